"""`assay as opencompass`: the original's command line, for configs and custom datasets."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.systems.command_line import foreign_command, print_notes
from assay.systems.flag_table import CommandLine, usage_error
from assay.systems.opencompass.flags import FLAGS

if TYPE_CHECKING:
    from assay.systems.opencompass.config_runs import Stage

_STAGES: Mapping[str, Stage] = {"all": "all", "infer": "infer", "eval": "score", "viz": "viz"}
_CLASSES = {"base": "HuggingFaceBaseModel", "chat": "HuggingFacewithChatTemplate"}


@foreign_command(FLAGS)
def opencompass(line: CommandLine) -> int:
    """Evaluate configs and tables with OpenCompass's own flags."""
    from assay.systems.opencompass.config_runs import ConfigCommand, read_names, run_configs
    from assay.systems.opencompass.result_files import DetailOptions

    flags, settings = line.flags, line.settings
    if flags.hf_type and not flags.hf_path:
        settings["chat"] = "on" if flags.hf_type == "chat" else "off"
    names = read_names(flags, _describe_hf_model(flags))
    print_notes(line.notes)
    return run_configs(
        ConfigCommand(
            "opencompass",
            names,
            _STAGES[flags.mode],
            flags.reuse,
            Path(flags.work_dir),
            Path(flags.config_dir),
            None if flags.openicl_root is None else Path(flags.openicl_root),
            DetailOptions(flags.dump_eval_details, flags.dump_extract_rate),
            settings,
            is_dry=flags.dry_run,
        )
    )


def _describe_hf_model(flags: argparse.Namespace) -> Sequence[dict[str, Any]]:
    """Return the model that the --hf flags describe, as a config entry."""
    if not flags.hf_path:
        for name in ("model_kwargs", "generation_kwargs", "max_seq_len"):
            if getattr(flags, name) is not None:
                what = f"--{name.replace('_', '-')} describes the model of --hf-path, which is not set"
                raise usage_error(what, "add --hf-path, or set it in the model's config")
        return ()
    if flags.models:
        what = "--models and --hf-path are both set; the original would ignore the second"
        raise usage_error(what, "remove one of them")
    entry = {
        "type": _CLASSES[flags.hf_type or "chat"],
        "abbr": flags.hf_path.rstrip("/").rpartition("/")[2] + "_hf",
        "path": flags.hf_path,
        "model_kwargs": _parse_pairs(flags.model_kwargs, "--model-kwargs"),
        "generation_kwargs": _parse_pairs(flags.generation_kwargs, "--generation-kwargs"),
        "max_seq_len": flags.max_seq_len,
    }
    return ({name: value for name, value in entry.items() if value not in (None, {})},)


def _parse_pairs(pairs: Sequence[str] | None, flag: str) -> dict[str, Any]:
    """Parse `key=value` pairs; values are Python or JSON literals, else texts."""
    values: dict[str, Any] = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise usage_error(f"{flag}: found {pair!r}, expected key=value", f"write {flag} a=1")
        known = {"True": True, "False": False, "None": None}
        try:
            values[key] = known[value] if value in known else json.loads(value)
        except json.JSONDecodeError:
            values[key] = value
    return values
