"""Differences between lm-eval and Assay; docs/formats/lm_eval.md lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from assay.core.difference import AppliedDifference, Difference, apply_differences, select_differences
from assay.dialects.lm_eval.config import GENERATE_UNTIL


class TaskTraits(NamedTuple):
    """The properties of a task that decide which differences affect it."""

    output_type: str
    draws_shots: bool
    """Whether examples are drawn at random."""
    is_chat: bool
    has_limit: bool
    runs_programs: bool
    """Whether the task file says that a metric runs what the model wrote."""
    has_thoughts: bool = False
    """Whether `think_end_token` separates thoughts from answers."""
    has_conversations: bool = False
    """Whether prompts go through a chat template."""


DIFFERENCES: Mapping[str, Difference[TaskTraits]] = {
    "shots_draw": Difference(
        "one generator with seed 1234 draws the examples of all documents in turn",
        "a draw depends only on seed, task and document",
        lambda traits: traits.draws_shots,
    ),
    "own_example": Difference(
        "a document can be its own example, unless examples come from the evaluated split",
        "a document is never its own example",
        lambda traits: traits.draws_shots,
    ),
    "limit": Difference(
        "`--limit N` takes the first N documents",
        "`--limit N` draws N documents by the seed; `--limit first:N` takes the first ones",
        lambda traits: traits.has_limit,
        is_reproduced=False,
    ),
    "tokens_at_boundary": Difference(
        "the prompt is encoded alone and together with the answer; the additional tokens are scored",
        "the whole text is encoded once; the tokens that end after the prompt are scored",
        lambda traits: traits.output_type != GENERATE_UNTIL,
        is_reproduced=False,
    ),
    "template_white_space": Difference(
        "white space at the end of the chat template, such as the line break after `assistant`, is scored "
        "with each answer",
        "only the answer is scored",
        lambda traits: traits.has_conversations and traits.output_type != GENERATE_UNTIL,
    ),
    "programs": Difference(
        "programs that the model wrote run like the rest of the program, after `--confirm_run_unsafe_code`",
        "they run in the sandbox",
        lambda traits: traits.runs_programs,
        is_reproduced=False,
    ),
    "thoughts": Difference(
        "stop sequences end the thoughts before `think_end_token`, too, except with `--model vllm`",
        "stop sequences end only the answer",
        lambda traits: traits.has_thoughts and traits.output_type == GENERATE_UNTIL,
    ),
    "chat_template": Difference(
        "prompts are plain text, unless `--apply_chat_template` is given",
        "a chat model gets a conversation in which each example is a question and an answer; `--chat off` "
        "gives plain text",
        lambda traits: traits.is_chat,
    ),
}


def find_differences(traits: TaskTraits, *, is_faithful: bool) -> tuple[AppliedDifference, ...]:
    """Return the differences that can affect a task, and what was done about each."""
    return apply_differences(select_differences(DIFFERENCES, traits), is_faithful=is_faithful)
