"""Descriptions of configs for README tables, read from the config without loading data.

Authors' code is not run either: the value names of an evaluator are read from its source.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from assay.core.method import Method
from assay.dialects.openicl.authored.code import get_short_name
from assay.dialects.openicl.authored.definitions import Definitions
from assay.dialects.openicl.authored.modules import OPENCOMPASS, PACKAGES
from assay.dialects.openicl.authored.returned_names import EvaluatorClass, read_evaluator_class
from assay.dialects.openicl.config.entry import Component, DatasetEntry
from assay.dialects.openicl.config.loading import LoadedConfig
from assay.dialects.openicl.config.places import find_checkout
from assay.dialects.openicl.config.prompt_hash import hash_config
from assay.dialects.openicl.entries import ConfigEntry, load_entries
from assay.dialects.openicl.inferencing import find_method
from assay.dialects.openicl.multimodal_prompts import MULTIMODAL_TEMPLATE as MULTIMODAL
from assay.dialects.openicl.multimodal_prompts import MultimodalPrompts
from assay.dialects.openicl.retrievers.registry import make_retriever
from assay.dialects.openicl.templates.layouts import TemplateItem
from assay.dialects.openicl.templates.template_parsing import (
    TemplateLayout,
    TemplateSpec,
    list_items,
    read_template,
)

_ANSWER_ROLE = "BOT"
_MIN_RULE_LENGTH = 3
"""Minimum number of marks, such as dashes, in a line that separates examples."""


def count_inline_examples(read: TemplateLayout | None, columns: Collection[str]) -> int:
    """Return the number of solved examples before the question, which has the first column placeholder."""
    layout = next(iter(read.values()), None) if isinstance(read, dict) else read
    before: list[TemplateItem] = []
    for item in list_items(layout):
        # Words in braces inside an example are not placeholders.
        hole = next((column for column in item.text.columns if column in columns), None)
        if hole is not None:
            answered = [one for one in before if one.role == _ANSWER_ROLE and one.text.raw.strip()]
            return len(answered) + _count_repeats(item.text.raw[: item.text.find_hole(hole)])
        before.append(item)
    return 0


def _count_repeats(before: str) -> int:
    """Return how often the words before the question, from the start of their line, occur earlier."""
    start = before.rstrip().rfind("\n") + 1
    words = before[start:].strip()
    is_rule = not any(letter.isalnum() for letter in words)
    if is_rule and len(words) < _MIN_RULE_LENGTH:
        return 0
    end = r"[ \t]*$" if is_rule else ""
    return len(re.findall(rf"^[ \t]*{re.escape(words)}{end}", before[:start], re.MULTILINE))


ValueNames = Callable[[str, str, Mapping[str, Any]], Sequence[str] | None]
"""Takes an evaluator's name, module and arguments; returns None if the name is unknown."""
_OWN_DEPTH = 1
"""Depth of subfolders to search for code, the same as in an evaluation."""
_One = TypeVar("_One")


class ConfigDescription(NamedTuple):
    """The description of a config's task. If entries differ, the values of each, in order."""

    path: Path
    methods: tuple[Method, ...]
    metrics: tuple[str, ...]
    """The names of the values; empty if answers are not scored or the names cannot be read."""
    evaluators: tuple[str, ...]
    """The names of the evaluators."""
    shots: tuple[int, ...]
    """Number of solved examples: those of the retriever, and those written in the template."""
    formats: tuple[str, ...]
    """The prompt formats; empty if a template is unknown."""
    prompt_hash: str | None
    """The hash of the whole file."""
    is_of_opencompass: bool
    """Whether it uses OpenCompass's own parts, whose names are part of its hash."""
    hands_on: tuple[Path, ...] | None
    """The configs that the file only re-exports; None if it has content of its own."""


class ConfigDescriber:
    """Describes configs; the files of a checkout are read only once."""

    def __init__(self, root: Path | None, value_names: ValueNames) -> None:
        """Store a checkout (None: the one that contains each config) and a lookup for Assay's evaluators."""
        self._root = root
        self._value_names = value_names
        self._definitions: dict[tuple[Path, int | None], Definitions] = {}
        self._classes: dict[tuple[Path, str], EvaluatorClass | None] = {}

    def describe(self, path: Path) -> ConfigDescription:
        """Load a config and return its description; raise all problems."""
        found = load_entries(str(path), self._root)
        entries = [(one, one.entry) for one in found if isinstance(one.entry, DatasetEntry)]
        templates = [_template(entry) for _, entry in entries]
        scored = [entry.eval_cfg.evaluator for _, entry in entries if entry.eval_cfg is not None]
        # Hundreds of entries may share one evaluator.
        evaluators = {str(component): component for component in scored}.values()
        shots = [_count_retrieved(one, entry) for one, entry in entries]
        return ConfigDescription(
            path,
            _keep_distinct(
                filter(
                    None,
                    (find_method(get_short_name(entry.infer_cfg.inferencer.type)) for _, entry in entries),
                )
            ),
            _keep_distinct(
                name for component in evaluators for name in self._values(component, found[0].config)
            ),
            _keep_distinct(get_short_name(component.type) for component in evaluators),
            _keep_distinct(
                retrieved + template.n_examples for retrieved, template in zip(shots, templates, strict=True)
            ),
            _keep_distinct(filter(None, (template.format for template in templates))),
            hash_config(found[0].config),
            any(_module(entry.infer_cfg.retriever).startswith(OPENCOMPASS) for _, entry in entries),
            found[0].config.files[:-1] if _is_import_only(path) else None,
        )

    def _values(self, component: Component, config: LoadedConfig) -> Sequence[str]:
        """Return the value names of an evaluator: the person's own, Assay's, or a checkout's."""
        name = get_short_name(component.type)
        folders = dict.fromkeys(file.absolute().parent for file in reversed(config.files))
        for folder in folders:
            if (own := self._read(folder, _OWN_DEPTH, name)) is not None:
                return self._find_value_names(own, folder, _OWN_DEPTH)
        known = self._value_names(name, getattr(component.type, "module", ""), component.arguments)
        if known is not None:
            return known
        root = self._root or find_checkout(config.path)
        for top in dict.fromkeys(package.partition(".")[0] for package in PACKAGES) if root else ():
            assert root is not None
            if (one := self._read(root / top, None, name)) is not None:
                return self._find_value_names(one, root / top, None)
        return ()

    def _find_value_names(
        self,
        one: EvaluatorClass,
        folder: Path,
        depth: int | None,
        seen: frozenset[EvaluatorClass] = frozenset(),
    ) -> Sequence[str]:
        """Return the value names of a class, or of the first base class that has any."""
        if one.values:
            return one.values
        for base in one.bases:
            extended = self._read(folder, depth, base)
            # A class may have the same name as its base class in another module.
            if extended is None or extended == one or extended in seen:
                values = self._value_names(base, "", {})
            else:
                values = self._find_value_names(extended, folder, depth, seen | {one})
            if values:
                return values
        return ()

    def _read(self, folder: Path, depth: int | None, name: str) -> EvaluatorClass | None:
        definitions = self._definitions.setdefault((folder, depth), Definitions(folder, depth=depth))
        file = definitions.find_file(name)
        if file is None:
            return None
        if (file, name) not in self._classes:
            self._classes[file, name] = read_evaluator_class(file, name)
        return self._classes[file, name]


class _Template(NamedTuple):
    """The template of a prompt."""

    format: str | None
    n_examples: int


def _template(entry: DatasetEntry) -> _Template:
    infer = entry.infer_cfg
    component = infer.prompt_template or infer.ice_template
    if component is None:
        return _Template(None, 0)
    spec = TemplateSpec(get_short_name(component.type), component.arguments)
    if spec.name == MULTIMODAL:
        return _Template(MultimodalPrompts.format, 0)
    read = read_template(spec, is_faithful=False, faults=[])
    shown = next(iter(read.values()), None) if isinstance(read, dict) else read
    return _Template(
        None if shown is None else shown.format, count_inline_examples(read, entry.reader_cfg.input_columns)
    )


def _count_retrieved(config_entry: ConfigEntry, entry: DatasetEntry) -> int:
    retriever = entry.infer_cfg.retriever
    arguments = {key: value for key, value in retriever.arguments.items() if key != "ice_template"}
    return make_retriever(get_short_name(retriever.type), arguments, where=config_entry.where).count


def _module(component: Component) -> str:
    return str(getattr(component.type, "module", component.type))


def _is_import_only(path: Path) -> bool:
    """Whether a config only imports its datasets from bases."""
    body = ast.parse(path.read_bytes()).body
    return not any(isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For) for node in body)


def _keep_distinct(values: Iterable[_One]) -> tuple[_One, ...]:
    return tuple(dict.fromkeys(values))
