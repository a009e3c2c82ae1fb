"""The flags of one command line, parsed and checked against each other."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, NamedTuple

from assay.systems.flag_table import usage_error
from assay.systems.lm_eval.models import TEMPLATE_SWITCHES, ResolvedModel, find_logged_name, resolve_model
from assay.systems.lm_eval.pairs import parse_pairs

_CHAT_ONLY = ("local-chat-completions", "openai-chat-completions")


class UsedFlags(NamedTuple):
    """The flags, with the values of those that contain several."""

    flags: argparse.Namespace
    model: ResolvedModel
    model_args: Mapping[str, Any]
    generation: Mapping[str, Any]
    """The values of --gen_kwargs."""
    metadata: Mapping[str, Any]
    """The values of --metadata."""

    @property
    def applies_template(self) -> bool:
        """Return whether prompts are conversations."""
        return parse_template_switch(self.flags.apply_chat_template)

    @property
    def task_metadata(self) -> dict[str, Any]:
        """Return what the original adds to the metadata of every task."""
        return {**self.model_args, **self.metadata}

    @property
    def model_name(self) -> str:
        """Return the model's name in the result files."""
        return find_logged_name(self.model_args, self.model)


def read_flags(flags: argparse.Namespace) -> UsedFlags:
    """Return the parsed flags; raise if they contradict each other."""
    model_args = parse_pairs(flags.model_args, "--model_args")
    metadata = parse_pairs(flags.metadata, "--metadata")
    generation = parse_pairs(flags.gen_kwargs, "--gen_kwargs")
    _check_flags(flags)
    return UsedFlags(flags, resolve_model(flags, model_args), model_args, generation, metadata)


def parse_template_switch(given: str | bool | None) -> bool:
    """Return whether --apply_chat_template is on."""
    return TEMPLATE_SWITCHES.get(given.lower(), True) if isinstance(given, str) else bool(given)


def _check_flags(flags: argparse.Namespace) -> None:
    """Raise for flags that contradict each other, or whose value is impossible."""
    applies = parse_template_switch(flags.apply_chat_template)
    if flags.limit is not None and not (0 < flags.limit < 1 or flags.limit == int(flags.limit) > 0):
        what = f"--limit is {flags.limit:g}, expected a whole number, or a fraction between 0 and 1"
        raise usage_error(
            what, "write --limit 100 for the first 100 documents, --limit 0.1 for the first 10 %"
        )
    if flags.samples is not None and flags.limit is not None:
        raise usage_error("--samples and --limit both select documents", "remove one of them")
    if (flags.log_samples or flags.predict_only) and not flags.output_path:
        name = "--log_samples" if flags.log_samples else "--predict_only"
        raise usage_error(f"{name} writes files, but no folder is named", "add --output_path DIR")
    if flags.fewshot_as_multiturn and not applies:
        what = "--fewshot_as_multiturn needs a conversation, but --apply_chat_template is not set"
        raise usage_error(what, "add --apply_chat_template")
    if flags.model in _CHAT_ONLY and not applies:
        what = f"--model {flags.model} accepts only conversations, but --apply_chat_template is not set"
        raise usage_error(what, "add --apply_chat_template, or use --model local-completions")
