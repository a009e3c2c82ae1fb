"""The originals' own modules, run from a checkout, as what Assay's prompts and scores are compared with.

A checkout's package is imported as it is, so the packages that it imports must be installed (mmengine among
them). What the model would be sent is made by its own reader, retriever, templates and template parser.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.dialects.openicl.authored.code import get_short_name
from assay.dialects.openicl.config.entry import Component, DatasetEntry

Messages = tuple[tuple[str, str], ...]
"""A conversation: roles and texts."""
_ROLES = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}
_PACKAGES = {"opencompass": "opencompass", "ais_bench": "ais_bench.benchmark"}
_BASE_MODELS = {"opencompass": "models.base", "ais_bench": "models.local_models.base"}
_API_MODELS = {"opencompass": "models.base_api", "ais_bench": "models.api_models.base_api"}
_CHAT_MODELS = {
    "opencompass": "models.huggingface_above_v4_33",
    "ais_bench": "models.local_models.huggingface_above_v4_33",
}


class Way(NamedTuple):
    """A kind of model: what it reads, and what its config says of roles."""

    name: str
    is_chat: bool
    meta: Mapping[str, Any] | None


_ROUND = [
    {"role": "HUMAN", "begin": "<|H|>", "end": "</H>\n"},
    {"role": "BOT", "begin": "<|B|>", "end": "</B>\n", "generate": True},
]
_API_ROUND = [
    {"role": "HUMAN", "api_role": "HUMAN"},
    {"role": "BOT", "api_role": "BOT", "generate": True},
]
WAYS = (
    Way("text", is_chat=False, meta=None),
    Way("text, meta template", is_chat=False, meta={"begin": "<s>", "round": _ROUND, "end": "<end>"}),
    Way("chat, local model", is_chat=True, meta=None),
    Way(
        "chat, service",
        is_chat=True,
        meta={"round": _API_ROUND, "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}]},
    ),
)


class Original:
    """One of the two systems."""

    def __init__(self, checkout: Path, package: str) -> None:
        """Import what makes prompts; ImportError where a package that it needs is missing."""
        sys.path.insert(0, str(checkout))
        self.name = package
        self.package = _PACKAGES[package]
        self.openicl = self._module("openicl")
        self._retrievers = self._module("openicl.icl_retriever")
        self._text_parser = self._module(_BASE_MODELS[package]).LMTemplateParser
        self._chat_parser = self._module(_API_MODELS[package]).APITemplateParser
        self._chat_model = self._module(_CHAT_MODELS[package])
        self._base = self._file(checkout, "datasets.base").BaseDataset
        templates = [self._module("openicl.icl_prompt_template")]
        if package == "opencompass":
            templates.append(self._module("openicl.icl_raw_prompt_template"))
        self._templates = {name: one for module in templates for name, one in vars(module).items()}

    def _module(self, name: str) -> Any:
        return importlib.import_module(f"{self.package}.{name}")

    def _file(self, checkout: Path, name: str) -> Any:
        """Return a module without the package that it is in, which would import every dataset class."""
        full = f"{self.package}.{name}"
        path = checkout.joinpath(*full.split(".")).with_suffix(".py")
        spec = importlib.util.spec_from_file_location(f"original_{name.replace('.', '_')}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def dataset(self, entry: DatasetEntry, splits: Mapping[str, Sequence[Mapping[str, Any]]]) -> Any:
        """Return the dataset as the original reads it."""
        from datasets import Dataset, DatasetDict

        def load(**_: Any) -> Any:
            return DatasetDict({name: Dataset.from_list(list(rows)) for name, rows in splits.items()})

        made = type("Made", (self._base,), {"load": staticmethod(load)})
        reader = {name: getattr(entry.reader_cfg, name) for name in entry.reader_cfg.__struct_fields__}
        reader = {name: list(one) if isinstance(one, tuple) else one for name, one in reader.items()}
        return made(reader_cfg=reader, abbr=entry.abbr)

    def asking(self, entry: DatasetEntry, dataset: Any) -> Asking:
        """Return what makes the prompts of an entry."""
        infer = entry.infer_cfg
        named = {"prompt_template": infer.prompt_template, "ice_template": infer.ice_template}
        made = {name: None if one is None else self._template(one) for name, one in named.items()}
        cls = getattr(self._retrievers, get_short_name(infer.retriever.type))
        arguments = {name: one for name, one in infer.retriever.arguments.items() if name not in named}
        if self.name == "opencompass":
            return Asking(cls(dataset, **arguments), made)
        retriever = cls(dataset, **arguments)
        retriever.prompt_template, retriever.ice_template = made["prompt_template"], made["ice_template"]
        return Asking(retriever, {})

    def _template(self, component: Component) -> Any:
        return self._templates[get_short_name(component.type)](**component.arguments)

    def shown(self, prompt: Any, way: Way, *, is_generation: bool) -> str | Messages:
        """Return what the model is sent."""
        mode = "gen" if is_generation else "ppl"
        if not way.is_chat:
            return str(self._text_parser(way.meta).parse_template(prompt, mode))
        if way.meta is None:
            parsed = self._chat_model._get_meta_template(None).parse_template(prompt, mode)
            if _is_raw(parsed):
                return _messages(parsed)
            return _messages(self._chat_model._convert_chat_messages([parsed])[0])
        parsed = self._chat_parser(way.meta).parse_template(prompt, mode)
        if isinstance(parsed, str):
            return (("user", parsed),)
        if _is_raw(parsed):
            return _messages(parsed)
        return tuple((_ROLES[one["role"]], _text_of(one["prompt"])) for one in parsed)


class Asking:
    """A retriever with its templates, which OpenCompass hands over at each call."""

    def __init__(self, retriever: Any, templates: Mapping[str, Any]) -> None:
        self._retriever = retriever
        self._templates = templates
        self._examples: list[Any] = []
        for picked in retriever.retrieve():
            ice = {name: one for name, one in templates.items() if name == "ice_template"}
            self._examples.append(retriever.generate_ice(picked, **ice))

    def __len__(self) -> int:
        return len(self._examples)

    def labels(self) -> list[Any]:
        """Return the labels that are compared where the inferencer names none."""
        return list(self._retriever.get_labels(**self._templates))

    def generation(self, row: int, replace_token: str) -> Any:
        """Return the prompt from which the model goes on."""
        return self._retriever.generate_prompt_for_generate_task(
            row, self._examples[row], gen_field_replace_token=replace_token, **self._templates
        )

    def labelled(self, row: int, label: Any) -> Any:
        """Return the prompt with a label in it."""
        return self._retriever.generate_label_prompt(row, self._examples[row], label, **self._templates)


def _is_raw(parsed: Any) -> bool:
    return isinstance(parsed, list) and bool(parsed) and all("content" in one for one in parsed)


def _messages(said: Sequence[Mapping[str, Any]]) -> Messages:
    return tuple((str(one["role"]), _text_of(one["content"])) for one in said)


def _text_of(content: Any) -> Any:
    """Return the text of a message that is made of one part."""
    if isinstance(content, list) and len(content) == 1 and content[0].get("type") == "text":
        return content[0]["text"]
    return content
