"""The dialects that datasets are written in: how to recognise and compile each of them.

A dialect is imported when one of its datasets is compiled, so that a table does not wait for the libraries of
other dialects. Recognition uses only names and files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from assay.app.table_datasets import CompileContext, compile_table_dataset
from assay.core.compilation import CompiledDataset
from assay.core.errors import AssayError, Problem, UsageError, listing, suggest_name
from assay.core.ports import Backend
from assay.core.python_objects import is_python_name
from assay.core.setting_names import name_setting
from assay.core.task import TaskSettings
from assay.dialects.leap.detect import TaskName, is_task
from assay.dialects.llmbox.detect import ClassName, class_files, is_class_file
from assay.dialects.lm_eval.detect import is_task_file, split_names
from assay.dialects.openicl.detect import ConfigName, find_config_files, is_config, is_loader
from assay.dialects.ultraeval.detect import find_nested_folders, is_dataset

if TYPE_CHECKING:
    from assay.dialects.leap.compile import LeapTools
    from assay.dialects.leap.registry import RegisteredDataset


TABLE = "table"


class Dialect(NamedTuple):
    """A dialect other than tables, which are described by flags and compiled by `app.datasets`."""

    recognises: Callable[[str], bool]
    """Return whether a named dataset is written in it."""
    members: Callable[[str], Sequence[str]]
    """List the datasets in a folder of many, as a person would name each; empty if the folder is one dataset
    or contains none."""
    compile: Callable[[str, TaskSettings, CompileContext], Sequence[CompiledDataset]]
    understands: frozenset[str]
    """The settings that apply to it, among those that do not apply to all dialects."""
    instead: Mapping[str, str]
    """What to do instead of a setting that does not apply to it."""
    noun: str
    """What a dataset in it is called."""


def detect_dialect(name: str, requested: str | None, dataset_args: Mapping[str, str]) -> str:
    """Return the dialect of a dataset: the requested one, or the one its file shows."""
    if requested is None:
        # A file of rows fits several dialects; a transform makes it UltraEval's.
        of_rows = "ultraeval" if "transform" in dataset_args else TABLE
        if is_python_name(name):
            return of_rows
        return next((name_ for name_, known in DIALECT_REGISTRY.items() if known.recognises(name)), of_rows)
    if requested not in DIALECTS:
        raise UsageError(
            Problem(
                "USAGE-004",
                f"there is no dialect {requested!r}{suggest_name(requested, DIALECTS)}",
                f"use one of {listing(DIALECTS)}, or remove --dialect",
            )
        )
    return requested


def list_members(name: str, requested: str | None) -> Sequence[str]:
    """Return the datasets in a folder of many, in the requested dialect or in any."""
    dialects = [dialect for known, dialect in DIALECT_REGISTRY.items() if requested in (None, known)]
    return next(filter(None, (dialect.members(name) for dialect in dialects)), ())


def _list_paths_with(members: Callable[[Path], Sequence[Path]]) -> Callable[[str], Sequence[str]]:
    """Return the `members` function of a dialect whose datasets are files or folders."""
    return lambda name: [str(member) for member in members(Path(name))] if Path(name).is_dir() else []


def _is_class(name: str) -> bool:
    return is_class_file(ClassName.of(name).path)


def _compile_classes(
    name: str, settings: TaskSettings, compile_context: CompileContext
) -> Sequence[CompiledDataset]:
    from assay.app.model_view import model_view
    from assay.backends.hf.sentence_encoder import open_embedder
    from assay.dialects.llmbox.compile import LlmboxTools, compile_classes
    from assay.dialects.llmbox.library.raw_data import RawData
    from assay.scoring.metrics import AUTHOR_NAMES

    folder: Path = ClassName.of(name).path.parent
    raw_data = RawData(compile_context.hub, settings.dataset_args.get("dataset_path"), beside=folder)
    view = model_view(compile_context.backend, is_chat=settings.is_chat)
    return compile_classes(
        name, settings, LlmboxTools(AUTHOR_NAMES, raw_data, view, open_embedder, compile_context.generators)
    )


def _compile_transforms(
    name: str, settings: TaskSettings, compile_context: CompileContext
) -> Sequence[CompiledDataset]:
    from assay.dialects.ultraeval.compile import UltraevalTools, compile_transforms
    from assay.scoring.originals.opencompass import postprocess
    from assay.scoring.originals.ultraeval import row_values
    from assay.scoring.scorers import sentence_likelihood

    corrected = {
        **postprocess.CORRECTED_BY_ANY_NAME,
        **row_values.CORRECTED,
        **sentence_likelihood.CORRECTED,
    }
    return compile_transforms(name, settings, UltraevalTools(postprocess.POSTPROCESSORS, corrected))


def _leap_tools(data_root: Path | None, backend: Backend | None) -> LeapTools:
    from assay.backends.cache_dir import cache_dir
    from assay.backends.hf.sentence_encoder import compare_pairs
    from assay.dialects.leap.compile import LeapTools
    from assay.engine.replay_backend import StoredModel
    from assay.scoring.originals.leap.aggregations import AGGREGATIONS, Bleurt, packages_lacking

    return LeapTools(
        {**AGGREGATIONS, "bleurt": Bleurt(compare_pairs)},
        packages_lacking,
        cache_dir() / "datasets",
        data_root,
        None if backend is None else backend.tokens,
        backend.specs if isinstance(backend, StoredModel) else None,
    )


def list_registered_datasets(folder: Path) -> list[RegisteredDataset]:
    """Return the datasets in the registry of a folder of Task classes; empty if it has no registry."""
    from assay.dialects.leap.compile import list_registered_datasets as registered

    return registered(folder, _leap_tools(None, None))


def _list_task_names(name: str) -> Sequence[str]:
    folder = TaskName.of(name).path
    if not folder.is_dir() or not is_task(name):
        return []
    from assay.dialects.leap.compile import list_task_names

    try:
        return [f"{folder}:{task}" for task in list_task_names(name, _leap_tools(None, None))]
    except AssayError:
        # Compiling the folder reports this error.
        return []


def _compile_tasks(
    name: str, settings: TaskSettings, compile_context: CompileContext
) -> Sequence[CompiledDataset]:
    from assay.dialects.leap.compile import compile_tasks

    root = None if compile_context.hub is None else compile_context.hub.root
    return compile_tasks(name, settings, _leap_tools(root, compile_context.backend))


def _compile_configs(
    name: str, settings: TaskSettings, compile_context: CompileContext
) -> Sequence[CompiledDataset]:
    from assay.app.datasets import locate_config_table
    from assay.app.openicl_scoring import OpenIclScoring, build_author_imports
    from assay.backends.hf.sentence_encoder import open_embedder
    from assay.dialects.openicl.arguments import parse_config_arguments
    from assay.dialects.openicl.compile import build_author_code, compile_entry
    from assay.dialects.openicl.config.entry import TableEntry
    from assay.dialects.openicl.entries import ConfigEntry, apply_to_entries, drop_scoring, load_entries
    from assay.dialects.openicl.entry_validation import EntryContext, OpenIclTools

    arguments = parse_config_arguments(settings.dataset_args, ConfigName.of(name).path)
    same_names: list[Problem] = []
    entries = load_entries(name, arguments.root, same_names)
    if arguments.is_unscored:
        entries = list(map(drop_scoring, entries))
    root = None if compile_context.hub is None else compile_context.hub.root
    tools = OpenIclTools(build_author_imports(), OpenIclScoring(), open_embedder, root)
    context = EntryContext(settings, arguments, tools, build_author_code(entries, arguments, tools))

    def compile_one(one: ConfigEntry) -> CompiledDataset:
        if not isinstance(one.entry, TableEntry):
            return compile_entry(one, name, context)
        table = locate_config_table(one.entry, one.config.path, one.where)
        return compile_table_dataset(table.path, settings, table.given, compile_context, arguments=arguments)

    return apply_to_entries(entries, compile_one, same_names)


def _compile_task_files(
    name: str, settings: TaskSettings, compile_context: CompileContext
) -> Sequence[CompiledDataset]:
    from assay.app.lm_eval_tasks import build_lm_eval_tools, find_task_folders
    from assay.dialects.lm_eval.compile import compile_task_files

    folders = find_task_folders(settings.include_path, settings.dataset_args)
    tools = build_lm_eval_tools(name, folders, compile_context.hub)
    return compile_task_files(split_names(name), settings, tools)


DIALECT_REGISTRY = {
    "lm_eval": Dialect(
        is_task_file,
        lambda name: (),
        _compile_task_files,
        frozenset({"samples", "include_path", "dataset_args"}),
        {
            "shots_from": "set fewshot_split in the task file",
            "split": "set test_split in the task file",
            "table": "define it in the task file",
        },
        "a task file",
    ),
    "ultraeval": Dialect(
        is_dataset,
        _list_paths_with(find_nested_folders),
        _compile_transforms,
        frozenset({"samples", "dataset_args", "shots_from", "shot_policy"}),
        {"split": "name the data file", "table": "define it in the transform or its config"},
        "a transform",
    ),
    "leap": Dialect(
        is_task,
        _list_task_names,
        _compile_tasks,
        frozenset(),
        {
            "shots_from": "define training_docs() in the class",
            "split": "define has_test_docs() in the class",
            "table": "define it in the class",
        },
        "a Task class",
    ),
    "openicl": Dialect(
        lambda name: is_config(name) or is_loader(name),
        _list_paths_with(find_config_files),
        _compile_configs,
        frozenset({"samples", "dataset_args"}),
        {
            "shots_from": "set reader_cfg.train_split in the config",
            "split": "set reader_cfg.test_split in the config",
            "table": "define it in the config",
        },
        "a config",
    ),
    "llmbox": Dialect(
        _is_class,
        _list_paths_with(class_files),
        _compile_classes,
        frozenset({"samples", "cot", "dataset_args"}),
        {
            "shots_from": "use --dataset-arg example_set=SPLIT",
            "split": "use --dataset-arg evaluation_set=SPLIT",
            "table": "define it in the class",
        },
        "a dataset class",
    ),
}
"""The dialects in the order in which they are tried; a dataset that fits no other is a table."""
DIALECTS = (TABLE, *DIALECT_REGISTRY)


_TABLE_SETTINGS = frozenset(
    {
        *("shots_from", "shot_policy", "windows", "window_tokens", "stride", "split", "table"),
        *("samples", "dataset_args"),
    }
)
_SPECIAL = _TABLE_SETTINGS.union(*(dialect.understands for dialect in DIALECT_REGISTRY.values()))
"""Settings that do not apply to every dialect."""


def check_used_settings(
    dialects: Collection[str], settings: TaskSettings, table_settings: Mapping[str, object], split: str | None
) -> None:
    """Raise for settings that apply to no dialect in use; `table_settings` describe a table."""
    known = frozenset[str]().union(*(_list_known_settings(dialect) for dialect in dialects))
    given, of_tables = _list_given_settings(settings, table_settings, split)
    nouns = " or ".join(sorted({_noun(dialect) for dialect in dialects}))
    problems = [
        _problem(name, nouns, _find_alternative(name, dialects)) for name in given if name not in known
    ]
    if TABLE not in dialects:
        problems += [_problem(name, nouns, _find_alternative("table", dialects)) for name in of_tables]
    if problems:
        raise UsageError(problems)


def format_ignored_settings(
    dialect: str, settings: TaskSettings, table_settings: Mapping[str, object], split: str | None
) -> tuple[str, ...]:
    """Return notes about settings that do not apply to one dialect but to another in the same run."""
    given, of_tables = _list_given_settings(settings, table_settings, split)
    unknown = [name for name in given if name not in _list_known_settings(dialect)]
    unknown += [] if dialect == TABLE else of_tables
    return tuple(f"{name_setting(name)} has no effect on {_noun(dialect)}" for name in unknown)


def _list_given_settings(
    settings: TaskSettings, table_settings: Mapping[str, object], split: str | None
) -> tuple[list[str], list[str]]:
    """Return the names of the given settings: those of some dialects, and those that describe a table."""
    plain = TaskSettings()
    given = [name for name in sorted(_SPECIAL) if getattr(settings, name, None) != getattr(plain, name, None)]
    return [*given, *([] if split is None else ["split"])], list(table_settings)


def _list_known_settings(dialect: str) -> frozenset[str]:
    return _TABLE_SETTINGS if dialect == TABLE else DIALECT_REGISTRY[dialect].understands


def _noun(dialect: str) -> str:
    return "a table" if dialect == TABLE else DIALECT_REGISTRY[dialect].noun


def _find_alternative(name: str, dialects: Collection[str]) -> str:
    """Return what the dialects in use have instead of a setting."""
    every = (DIALECT_REGISTRY[dialect].instead.get(name) for dialect in sorted(dialects) if dialect != TABLE)
    return next((fix for fix in every if fix), f"remove {name_setting(name)}")


def _problem(name: str, nouns: str, fix: str) -> Problem:
    return Problem("USAGE-007", f"the setting {name_setting(name)} has no effect on {nouns}", fix)
