"""Differences between the original and Assay; docs/formats/ultraeval.md lists them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from assay.core.difference import AppliedDifference, Difference, apply_differences, select_differences
from assay.core.method import Method


class TransformTraits(NamedTuple):
    """The properties of a task that decide which differences affect it."""

    methods: Collection[Method]
    has_shots: bool
    is_chat: bool
    n_samples: int
    scoring: frozenset[str]
    """The registered names of the post-processors and metrics in use."""
    names_parameters: bool
    """Whether sampling parameters are configured."""
    draws: bool
    """Whether the transform draws from its generator."""


DIFFERENCES: Mapping[str, Difference[TransformTraits]] = {
    "shot_draws": Difference(
        "one generator without a seed draws the examples of all rows in turn, so every run differs",
        "examples are drawn by seed, task and row",
        lambda traits: traits.has_shots,
        faithful="one generator with the run's seed draws the examples of all rows in turn",
    ),
    "shots_of_a_twin": Difference(
        "an example that equals the row is dropped without a replacement; one with the same question can be "
        "shown with its answer",
        "rows with the same question are excluded, and every prompt has the requested number of examples",
        lambda traits: traits.has_shots,
    ),
    "random_transform": Difference(
        "a transform that draws at random gives a row a different prompt in each position",
        "its draws depend on seed, task and row",
        lambda traits: traits.draws,
        faithful="its draws come from the generator of the examples, as in the original",
    ),
    "trailing_space": Difference(
        "a prompt that ends in a space is sent as it is, so the model cannot generate the space with its "
        "first word",
        "spaces at the end of a prompt are removed",
        lambda traits: bool({Method.GEN, Method.PROB} & set(traits.methods)),
    ),
    "chat": Difference(
        "a chat model receives plain text without its template",
        "examples and question are turns of a chat",
        lambda traits: traits.is_chat,
    ),
    "parameters": Difference(
        "answers are sampled at temperature 0.3 and top_p 0.8, with at most 300 tokens",
        "answers are greedy unless the config or a flag sets a temperature",
        lambda traits: Method.GEN in traits.methods and not traits.names_parameters,
    ),
    "first_sample": Difference(
        "only the first of several samples is scored",
        "the mean over the samples is scored",
        lambda traits: traits.n_samples > 1 and "function_execution" not in traits.scoring,
    ),
}
"""Differences in prompts; the application provides those in scoring."""


def find_differences(
    traits: TransformTraits, corrected: Mapping[str, Difference[object]], *, is_faithful: bool
) -> tuple[AppliedDifference, ...]:
    """Return the differences that affect a task, and what this run did about each."""
    of_scoring = {name: corrected[name] for name in sorted(traits.scoring & corrected.keys())}
    return apply_differences(
        {**select_differences(DIFFERENCES, traits), **of_scoring}, is_faithful=is_faithful
    )
