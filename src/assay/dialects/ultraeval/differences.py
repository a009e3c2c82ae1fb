"""Differences between the original and Assay; docs/formats/ultraeval.md lists them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from assay.core.task import OriginalDifference
from assay.dialects.shared.differences import Difference, select_differences, touches_every_task


class TransformTraits(NamedTuple):
    """The properties of a task that decide which differences affect it."""

    methods: Collection[str]
    has_shots: bool
    is_chat: bool
    n_samples: int
    scoring: frozenset[str]
    """The registered names of the post-processors and metrics in use."""
    names_parameters: bool
    """Whether sampling parameters are configured."""
    draws: bool
    """Whether the transform draws from its generator."""


DIFFERENCES: tuple[Difference[TransformTraits], ...] = (
    Difference(
        "shot_draws",
        lambda traits: traits.has_shots,
        "one generator without a seed draws the examples of all rows in turn, so no two runs are alike",
        "examples are drawn by seed, task and row",
        faithful="one generator with the run's seed draws the examples of all rows in turn",
    ),
    Difference(
        "shots_of_a_twin",
        lambda traits: traits.has_shots,
        "a row that is equal to the asked one costs an example; one that asks the same may be shown solved",
        "rows that ask the same are kept out, and every prompt has as many examples as were asked for",
    ),
    Difference(
        "random_transform",
        lambda traits: traits.draws,
        "a transform that draws gives a row another prompt in each place",
        "what it draws depends on seed, task and row",
        faithful="it draws from the generator of the examples, as in the original",
    ),
    Difference(
        "trailing_space",
        lambda traits: bool({"gen", "prob"} & set(traits.methods)),
        "a prompt that ends in a space is sent so, which takes the space from the model's first word",
        "spaces at the end of a prompt are left to the model",
    ),
    Difference(
        "chat",
        lambda traits: traits.is_chat,
        "a chat model is given plain text without its template",
        "examples and question are turns of a chat",
    ),
    Difference(
        "parameters",
        lambda traits: "gen" in traits.methods and not traits.names_parameters,
        "answers are sampled at temperature 0.3 and top_p 0.8, up to 300 tokens",
        "answers are greedy unless the config or a flag says otherwise",
    ),
    Difference(
        "first_sample",
        lambda traits: traits.n_samples > 1 and "function_execution" not in traits.scoring,
        "of several samples the first alone is scored",
        "the mean over the samples is scored",
    ),
)
"""Differences in prompts; the application provides those in scoring."""


def find_differences(
    traits: TransformTraits, corrected: Mapping[str, tuple[str, str]], *, is_faithful: bool
) -> tuple[OriginalDifference, ...]:
    """Return the differences that affect a task, and what this run did about each."""
    named = sorted(traits.scoring & corrected.keys())
    of_scoring: list[Difference[TransformTraits]] = [
        Difference(name, touches_every_task, *corrected[name]) for name in named
    ]
    return select_differences((*DIFFERENCES, *of_scoring), traits, is_faithful=is_faithful)
