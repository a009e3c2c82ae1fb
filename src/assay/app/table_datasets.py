"""Compile tables: in Assay's own way, or as the config entry that OpenCompass creates from one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from assay.core.compilation import CompiledDataset
from assay.core.method import Method
from assay.core.ports import Backend
from assay.core.task import TaskSettings, TaskSpec
from assay.dialects.shared.dialogue import RoleMarks
from assay.dialects.table.compile import CompiledTable, ModelDefaults, compile_table
from assay.dialects.table.meta import TableMeta
from assay.sources.files import open_source
from assay.sources.hub import LocalHub

if TYPE_CHECKING:
    from assay.dialects.openicl.arguments import ConfigArguments
    from assay.dialects.openicl.entries import ConfigEntry

_ORIGINAL_SUFFIXES = (".csv", ".jsonl")


class CompileContext(NamedTuple):
    """The context of compiling a dataset: where data is stored, and the model as far as it is known."""

    hub: LocalHub | None
    """The folder that contains datasets by name."""
    backend: Backend | None
    generators: dict[Method, Any]
    """Random generators that continue from one dataset of a run to the next, as in an original."""


def compile_table_dataset(
    path: str,
    settings: TaskSettings,
    given: TableMeta,
    compile_context: CompileContext,
    *,
    meta_file: str | None = None,
    find_split: Callable[[str, str], str] | None = None,
    arguments: ConfigArguments | None = None,
) -> CompiledDataset:
    """Compile a table, with the settings of the model's config in `dataset_args`.

    A faithful run compiles the entry that OpenCompass creates from the table, if it creates one.
    `arguments`: the parsed `dataset_args`, if the table belongs to a config.
    """
    arguments = arguments or _arguments(settings, path)
    compiled = compile_table(
        path,
        settings,
        given,
        meta_file=meta_file,
        find_split=find_split,
        model=_defaults(arguments),
    )
    if settings.is_faithful and _is_opencompass_table(compiled, settings, path):
        entry = _build_original_entry(compiled, path)
        if entry is not None:
            return _compile_entry(entry, path, settings, arguments, compile_context)
    notes = compiled.notes
    if arguments is not None and arguments.model_postprocessor is not None:
        notes += ("pred_postprocessor has no effect on a table without --fidelity faithful",)
    if arguments is not None and arguments.meta_template is not None and settings.is_chat:
        notes += ("meta_template has no effect on a table in a chat without --fidelity faithful",)
    return msgspec.structs.replace(compiled, notes=notes)


def compute_table_version(spec: TaskSpec) -> str | None:
    """Return the version that OpenCompass gives a table: six digits that identify its prompt."""
    from assay.dialects.openicl.table_entry import compute_table_version

    if spec.dialect != "table" or "prompt_style" in spec.settings.get("said", {"prompt_style": None}):
        return None
    layout = spec.settings["layout"]
    keys = _select_original_keys(spec.settings["said"], spec.methods[0])
    return compute_table_version(layout["columns"], {**_to_original_columns(layout), **keys})


def _arguments(settings: TaskSettings, path: str) -> ConfigArguments | None:
    if not settings.dataset_args:
        return None
    # Imported here, like the dialect itself.
    from assay.dialects.openicl.arguments import TABLE_ARGUMENT_NAMES, parse_config_arguments

    return parse_config_arguments(
        settings.dataset_args, Path(path), noun="a table", known=TABLE_ARGUMENT_NAMES
    )


def _defaults(arguments: ConfigArguments | None) -> ModelDefaults:
    if arguments is None:
        return ModelDefaults()
    return ModelDefaults(
        arguments.max_out_len, arguments.stop_words, _marks(arguments), arguments.joins_turns
    )


def _marks(arguments: ConfigArguments) -> RoleMarks | None:
    """Return the role marks of a text model; None if its meta template has none."""
    meta = arguments.meta_template
    if meta is None or meta.messages:
        return None
    from assay.dialects.openicl.templates.meta import CHAT_ROLES

    by_role = {
        CHAT_ROLES[name]: (role.begin, role.end) for name, role in meta.roles.items() if name in CHAT_ROLES
    }
    # A model without a system mark gets the system message as the user's.
    by_role.setdefault("system", by_role.get("user", ("", "")))
    has_marks = meta.begin or meta.end or any(begin or end for begin, end in by_role.values())
    return RoleMarks(meta.begin, by_role, meta.end) if has_marks else None


def _is_opencompass_table(compiled: CompiledTable, settings: TaskSettings, path: str) -> bool:
    """Return whether OpenCompass reads this table: options in columns, and none of Assay's own settings."""
    from assay.dialects.openicl.table_entry import TABLE_KEYS

    meta = msgspec.to_builtins(compiled.given)
    layout = compiled.survey.layout
    return (
        not settings.shots
        and len(compiled.task.spec.methods) == 1
        and Path(path).suffix in _ORIGINAL_SUFFIXES
        and set(meta) <= set(TABLE_KEYS)
        and layout.data_type != "text"
        and not isinstance(layout.options, str)
        and (compiled.task.spec.methods == (Method.PPL,) or all(len(name) == 1 for name in layout.options))
        and layout.answer_form == "label"
        and layout.length_column is None
        and layout.answer_column in (None, "answer", compiled.given.output_column)
    )


def _to_original_columns(layout: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer column, which the original would not find by its name."""
    return {"output_column": layout.get("answer_column")}


def _select_original_keys(given: Mapping[str, Any], method: str) -> dict[str, Any]:
    from assay.dialects.openicl.table_entry import TABLE_KEYS

    return {**{name: given[name] for name in TABLE_KEYS if name in given}, "infer_method": method}


def _build_original_entry(compiled: CompiledTable, path: str) -> ConfigEntry | None:
    """Return the entry that the original creates from a table, as if it were in a config."""
    from assay.core.origin import Origin
    from assay.dialects.openicl.config.checking import check_entries
    from assay.dialects.openicl.config.lists import DatasetList
    from assay.dialects.openicl.config.loading import LoadedConfig
    from assay.dialects.openicl.config.prompt_hash import hash_prompt
    from assay.dialects.openicl.entries import ConfigEntry
    from assay.dialects.openicl.table_entry import build_original_entry

    spec = compiled.task.spec
    first = next(iter(open_source(path).records()), None)
    columns = tuple(first.fields) if first is not None else ()
    keys = {**_select_original_keys(msgspec.to_builtins(compiled.given), spec.methods[0]), "abbr": spec.name}
    written = build_original_entry(str(Path(path).absolute()), columns, keys)
    if written is None:
        return None
    config = LoadedConfig(Path(path), {}, ())
    (placed,) = check_entries(config, [DatasetList("table", [written])])
    return ConfigEntry(placed.entry, Origin(path), config, hash_prompt(written))


def _compile_entry(
    entry: ConfigEntry,
    path: str,
    settings: TaskSettings,
    arguments: ConfigArguments | None,
    compile_context: CompileContext,
) -> CompiledDataset:
    from assay.app.openicl_scoring import OpenIclScoring, build_author_imports
    from assay.backends.hf.sentence_encoder import open_embedder
    from assay.dialects.openicl.arguments import ConfigArguments
    from assay.dialects.openicl.compile import build_author_code, compile_entry
    from assay.dialects.openicl.entry_validation import EntryContext, OpenIclTools

    given = arguments or ConfigArguments()
    root = None if compile_context.hub is None else compile_context.hub.root
    tools = OpenIclTools(build_author_imports(), OpenIclScoring(), open_embedder, root)
    return compile_entry(
        entry, path, EntryContext(settings, given, tools, build_author_code([entry], given, tools))
    )
