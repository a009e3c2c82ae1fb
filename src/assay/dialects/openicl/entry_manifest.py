"""The manifest record of an entry: everything that determines a prompt or a score."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.core.task import TaskSpec
from assay.dialects.openicl.authored.code import AuthorCode, get_short_name
from assay.dialects.openicl.config.entry import Component, DatasetEntry
from assay.dialects.openicl.differences import EntryTraits, find_differences
from assay.dialects.openicl.entries import ConfigEntry
from assay.dialects.openicl.entry_validation import EntryContext, EntryParts
from assay.dialects.openicl.judge_prompts import REFERENCE
from assay.dialects.openicl.multimodal_prompts import MultimodalPrompts
from assay.dialects.shared.row_names import hash_contents

DIALECT = "openicl"


def build_task_spec(
    config_entry: ConfigEntry, source: str, parts: EntryParts, context: EntryContext
) -> TaskSpec:
    """Return the spec of an entry's task. `source`: the dataset name as given."""
    entry, settings = config_entry.entry, context.settings
    assert isinstance(entry, DatasetEntry)
    train = parts.data.train.ids.contents if parts.retriever.count else ()
    return TaskSpec(
        entry.name,
        DIALECT,
        source,
        hash_contents(parts.data.test.ids.contents, train),
        (parts.inference.method,),
        len(parts.data.test),
        len(parts.data.test),
        _settings(config_entry, entry, parts, context),
        find_differences(
            _traits(entry, parts, is_chat=settings.is_chat),
            context.tools.scoring.differences,
            is_faithful=settings.is_faithful,
        ),
    )


def _settings(
    config_entry: ConfigEntry, entry: DatasetEntry, parts: EntryParts, context: EntryContext
) -> dict[str, Any]:
    inference, retriever, scoring = parts.inference, parts.retriever, parts.scoring
    templates, settings = parts.templates, context.settings
    return {
        "config": str(config_entry.config.path),
        "abbr": entry.abbr,
        "dataset_class": parts.data.dataset_class,
        "prompt_hash": config_entry.prompt_hash,
        "code": _code(config_entry, parts, context.code),
        "load": _encode_value(entry.load_arguments),
        "reader": _encode_value(msgspec.to_builtins(entry.reader_cfg)),
        **({"split": parts.data.test.name} if parts.data.test.name else {}),
        "prompt_format": templates.format,
        "prompt_template": _component(entry.infer_cfg.prompt_template),
        "ice_template": _component(entry.infer_cfg.ice_template),
        "retriever": {"name": type(retriever).__name__, **_encode_value(msgspec.to_builtins(retriever))},
        "inferencer": {
            "name": inference.name,
            "turns": inference.turn_mode,
            "labels": _encode_value(inference.labels),
        },
        "sampling": msgspec.to_builtins(inference.sampling),
        "shots": retriever.count,
        "evaluator": scoring.evaluator_name,
        "evaluator_arguments": _encode_value(entry.eval_cfg.evaluator.arguments) if entry.eval_cfg else {},
        "postprocessors": [one.name for one in scoring.predictions],
        "dataset_postprocessor": scoring.golds.name if scoring.golds else None,
        "n": inference.sampling.n,
        "k": list(entry.resolve_k(inference.sampling.n)),
        "form": "chat" if settings.is_chat else "text",
        **({"joins_turns": True} if context.arguments.joins_turns and settings.is_faithful else {}),
        "seed": settings.seed,
        "faithful": settings.is_faithful,
        "score_by": settings.score_by,
        **(templates.settings if isinstance(templates, MultimodalPrompts) else {}),
    }


def _code(config_entry: ConfigEntry, parts: EntryParts, code: AuthorCode) -> dict[str, str]:
    """Return a hash of every file that defines the entry, independent of the rest of the config."""
    named = {parts.data.author.path, *parts.scoring.files}
    behind = {path for one in named for path in code.modules.find_imported_files(one)}
    files = sorted({*config_entry.config.files, *(path for path in behind if path.is_file())})
    return {_name(path, files): hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in files}


def _name(path: Path, files: list[Path]) -> str:
    """Return a file's name, with its folder if another file has the same name."""
    alike = [one for one in files if one.name == path.name]
    return path.name if len(alike) == 1 else f"{path.parent.name}/{path.name}"


def _traits(entry: DatasetEntry, parts: EntryParts, *, is_chat: bool) -> EntryTraits:
    scoring = parts.scoring
    named = {scoring.evaluator_name, *(one.name for one in scoring.predictions)}
    if scoring.golds is not None:
        named.add(scoring.golds.name)
    return EntryTraits(
        parts.inference,
        parts.templates,
        parts.retriever,
        frozenset(named),
        has_own_evaluator=scoring.is_own,
        is_chat=is_chat,
        has_pred_role=entry.eval_cfg is not None and entry.eval_cfg.pred_role is not None,
        has_range=entry.reader_cfg.test_range is not None,
        shows_reference=entry.eval_cfg is not None
        and f"{{{REFERENCE}}}" in repr(entry.eval_cfg.evaluator.arguments),
        names_path=isinstance(entry.load_arguments.get("path"), str),
    )


def _component(component: Component | None) -> dict[str, Any] | None:
    if component is None:
        return None
    return {"type": get_short_name(component.type), **_encode_value(component.arguments)}


def _encode_value(value: Any) -> Any:
    """Return a config value in its stored form: code by its name."""
    if isinstance(value, Mapping):
        return {str(key): _encode_value(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_encode_value(one) for one in value]
    return value if isinstance(value, str | int | float | bool | None) else get_short_name(value)
