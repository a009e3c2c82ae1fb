"""The contents of the packages `opencompass` and `ais_bench.benchmark` for authors' files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from assay.dialects.openicl.authored.base_classes import BaseDataset, BaseEvaluator
from assay.dialects.openicl.authored.data_paths import DataPaths
from assay.dialects.openicl.authored.modules import AISBENCH, OPENCOMPASS
from assay.dialects.openicl.authored.own_datasets import CircularDatasetMeta, build_dataset_classes

T = TypeVar("T")

REGISTRY_NAMES = (
    "CLIENTS",
    "DICT_POSTPROCESSORS",
    "EVALUATORS",
    "ICL_DATASET_READERS",
    "ICL_EVALUATORS",
    "ICL_INFERENCERS",
    "ICL_PROMPT_TEMPLATES",
    "ICL_RETRIEVERS",
    "LOAD_DATASET",
    "METRICS",
    "MODELS",
    "PARTITIONERS",
    "PERF_METRIC_CALCULATORS",
    "RUNNERS",
    "TASKS",
    "TEXT_POSTPROCESSORS",
    "TOT_WRAPPER",
)


class Registry:
    """Classes and functions by registered name; the last registration of a name wins."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module_dict: dict[str, Any] = {}

    def register_module(
        self, name: Any = None, force: bool = True, module: Any = None
    ) -> Callable[[T], T] | Any:
        """Register a class or function, as a decorator or directly; without names, under its own name."""
        if module is not None:
            return self._keep(module, name)
        if name is not None and not isinstance(name, str | list):
            # Used without brackets: the decorated object is passed as the name.
            return self._keep(name, None)

        def keep(registered: T) -> T:
            kept: T = self._keep(registered, name)
            return kept

        return keep

    def get(self, name: str) -> Any:
        """Return the object registered under a name, or None."""
        return self.module_dict.get(name)

    def _keep(self, module: Any, name: Any) -> Any:
        names = [module.__name__] if name is None else [name] if isinstance(name, str) else name
        for one in names:
            self.module_dict[one] = module
        return module


def build_registries() -> dict[str, Registry]:
    """Return empty registries by import name."""
    return {name: Registry(name.lower()) for name in REGISTRY_NAMES}


TEXT, IMAGE, VIDEO, AUDIO = (f"<AIS_{medium}_START>" for medium in ("TEXT", "IMAGE", "VIDEO", "AUDIO"))
END = "<AIS_CONTENT_TAG>"
_MARKS = {
    "AIS_TEXT_START": TEXT,
    "AIS_IMAGE_START": IMAGE,
    "AIS_VIDEO_START": VIDEO,
    "AIS_AUDIO_START": AUDIO,
    "AIS_CONTENT_TAG": END,
}
_EXCEPTIONS = (
    "AISBenchBaseException",
    "AISBenchConfigError",
    "AISBenchDataContentError",
    "AISBenchDumpError",
    "AISBenchImplementationError",
    "AISBenchImportError",
    "AISBenchInvalidTypeException",
    "AISBenchKeyError",
    "AISBenchMetricError",
    "AISBenchModuleNotFoundError",
    "AISBenchNotImplementedError",
    "AISBenchRuntimeError",
    "AISBenchTypeError",
    "AISBenchValueError",
    "CommandError",
    "FileMatchError",
    "FileOperationError",
    "ParameterValueError",
    "PredictionInvalidException",
)
_CODES = (
    *("CALC_CODES", "DSET_CODES", "ICLE_CODES", "ICLI_CODES", "ICLR_CODES", "MODEL_CODES", "SUMM_CODES"),
    *("SWEB_CODES", "SWEBP_CODES", "TEVAL_CODES", "TINFER_CODES", "TMAN_CODES", "UNK_CODES", "UTILS_CODES"),
)
_COMPONENTS = {
    "openicl.icl_prompt_template": (
        "PromptTemplate",
        "MultiTurnPromptTemplate",
        "MMPromptTemplate",
        "BasePromptTemplate",
    ),
    "openicl.icl_retriever": (
        "BaseRetriever",
        "BM25Retriever",
        "DPPRetriever",
        "FixKRetriever",
        "MDLRetriever",
        "RandomRetriever",
        "SlidingWindowRetriever",
        "TopkRetriever",
        "VotekRetriever",
        "ZeroRetriever",
    ),
    "openicl.icl_inferencer": (
        "BaseInferencer",
        "ChatInferencer",
        "CLPInferencer",
        "GenInferencer",
        "LLInferencer",
        "MultiTurnGenInferencer",
        "PPLInferencer",
        "PPLOnlyInferencer",
        "SCInferencer",
    ),
}
"""Config parts that Assay implements itself; authors' files may import them and pass them on."""
_USUAL_EVALUATORS = (
    *("AccEvaluator", "AccwithDetailsEvaluator", "BleuEvaluator", "EMEvaluator", "MccEvaluator"),
    *("RougeEvaluator", "SquadEvaluator"),
)
_EVALUATOR_MODULES = (
    *("bbox_iou_evaluator", "icl_aucroc_evaluator", "icl_base_evaluator", "icl_bpc_evaluator"),
    *("icl_circular_evaluator", "icl_em_evaluator", "icl_hf_evaluator", "icl_jieba_rouge_evaluator"),
    *("icl_misc_evaluator", "math_evaluator"),
)
"""The originals' modules for evaluators that Assay implements itself."""


def format_import_lines(names: Iterable[str], *, package: str) -> list[str]:
    """Return the import lines for config parts such as PromptTemplate; other names are skipped."""
    lines = []
    for module, parts in (*_COMPONENTS.items(), ("openicl.icl_evaluator", _USUAL_EVALUATORS)):
        wanted = [name for name in dict.fromkeys(names) if name in parts]
        if wanted:
            lines.append(f"from {package}.{module} import {', '.join(wanted)}")
    return lines


class Library(NamedTuple):
    """The modules, and everything that files registered through them."""

    namespaces: Mapping[str, Mapping[str, Any]]
    registries: Mapping[str, Registry]


def build_library(
    data: DataPaths, postprocessors: Mapping[str, Any], evaluators: Mapping[str, type[BaseEvaluator]]
) -> Library:
    """Return the modules of both packages, which share classes and registries."""
    registered: dict[str, Any] = dict(build_registries())
    components = {name: {one: type(one, (), {}) for one in names} for name, names in _COMPONENTS.items()}
    scoring = {"BaseEvaluator": BaseEvaluator, **evaluators}
    datasets = build_dataset_classes(data)
    base = {"BaseDataset": BaseDataset, "BaseJDGDataset": BaseDataset}
    every_component = {name: part for parts in components.values() for name, part in parts.items()}
    shared: dict[str, Mapping[str, Any]] = {
        "registry": registered,
        "datasets": {**base, **datasets},
        "datasets.base": base,
        "datasets.circular": {"CircularDatasetMeta": CircularDatasetMeta},
        "datasets.custom": datasets,
        "openicl": {**scoring, **every_component},
        "openicl.icl_evaluator": scoring,
        **{f"openicl.icl_evaluator.{name}": scoring for name in _EVALUATOR_MODULES},
        **components,
    }
    finding = {"get_data_path": data.get_data_path}
    log = {"get_logger": get_logger}
    namespaces: dict[str, Mapping[str, Any]] = {
        **_prefix_modules(OPENCOMPASS, shared),
        **_prefix_modules(AISBENCH, shared),
        **_prefix_modules(
            OPENCOMPASS,
            {
                "utils": {**finding, **log},
                "utils.datasets": finding,
                "utils.logging": log,
                "utils.prompt": {"safe_format": safe_format},
                "utils.text_postprocessors": postprocessors,
            },
        ),
        **_prefix_modules(
            AISBENCH,
            {
                "datasets.utils.datasets": {**finding, "get_content_str": get_content_str},
                "utils.logging": {"AISLogger": AuthorLog, "get_logger": get_logger},
                "utils.logging.logger": {"AISLogger": AuthorLog},
                "utils.logging.error_codes": {name: ErrorCodes(name) for name in _CODES},
                "utils.logging.exceptions": {name: _exception(name) for name in _EXCEPTIONS},
                "utils.postprocess.text_postprocessors": postprocessors,
                "utils.postprocess.model_postprocessors": postprocessors,
                "utils.prompt": {**_MARKS, "safe_format": safe_format},
                "utils.prompt.prompt": {**_MARKS, "safe_format": safe_format},
            },
        ),
    }
    return Library(namespaces, registered)


def _prefix_modules(package: str, modules: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {f"{package}.{name}": names for name, names in modules.items()}


def get_logger(*_: Any, **__: Any) -> AuthorLog:
    """Return the log for authors' files."""
    return AuthorLog()


def get_content_str(msgs: Iterable[Mapping[str, Any]]) -> str:
    """Return the parts of a message in OpenAI's format as one text with marks."""
    made = []
    for part in msgs:
        kind = str(part["type"])
        mark = {"text": TEXT, "image_url": IMAGE, "video_url": VIDEO, "audio_url": AUDIO}[kind]
        value = part.get(kind, part.get("text", ""))
        made.append(f"{mark}{value['url'] if isinstance(value, Mapping) else value}{END}")
    return "".join(made)


def safe_format(input_str: str, **kwargs: Any) -> str:
    """Return a text with `{name}` filled; other braces stay unchanged."""
    for name, value in kwargs.items():
        input_str = input_str.replace(f"{{{name}}}", str(value))
    return input_str


class AuthorLog:
    """A log for authors' files; the original's takes a code before some messages."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._log = logging.getLogger("assay.author")

    def __getattr__(self, level: str) -> Any:
        if level.startswith("_"):
            raise AttributeError(level)
        return self._log_message

    def _log_message(self, *said: Any, **_: Any) -> None:
        self._log.debug("%s", " ".join(str(one) for one in said))


class ErrorCodes:
    """Error codes by name: each code is its own name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, code: str) -> str:
        if code.startswith("_"):
            raise AttributeError(code)
        return f"{self._name}.{code}"


class AuthorRaised(Exception):
    """AISBench's exception for authors' files, with a code and a message."""

    def __init__(self, error_code: Any = "", message: str | None = None) -> None:
        super().__init__(str(error_code) if message is None else message)


def _exception(name: str) -> type[AuthorRaised]:
    return type(name, (AuthorRaised,), {})
