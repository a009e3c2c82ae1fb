"""Arguments for examples and instruction beyond `--shots`: KATE, GlobalE and APE.

Checks that they do not contradict each other or the dataset.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from assay.core.errors import Problem, UsageError, listing
from assay.dialects.llmbox.authoring import Dataset

Count = Annotated[int, msgspec.Meta(ge=1)]


class ExampleArguments(msgspec.Struct, frozen=True):
    """The part of `--dataset-arg` for examples and instruction."""

    kate: bool = False
    """Show each row the examples most similar to it."""
    kate_order: Literal["nearest_last", "nearest_first"] | None = None
    """The position of the nearest example: next to the question, or first."""
    embedder: str | None = None
    """Folder of the sentence encoder that measures similarity."""
    globale: bool = False
    """Use the order of examples in which the model's answers are distributed most evenly."""
    globale_probes: Literal["pool", "generated"] = "pool"
    """Where the questions come from on which orders are tried."""
    globale_rows: Count = 50
    """Maximum number of these questions."""
    globale_orders: Annotated[int, msgspec.Meta(ge=2)] = 24
    """Maximum number of orders to try; 24 are all orders of four examples."""
    ape: bool = False
    """Let the model find an instruction."""
    ape_proposals: Count = 16
    """Number of instructions that the model proposes."""
    ape_examples: Count = 5
    """Solved rows shown for each proposal."""
    ape_rows: Count = 32
    """Maximum number of rows on which proposals are compared."""


_BELONGS_TO = {
    name: "kate" if name == "embedder" else name.partition("_")[0]
    for name in ExampleArguments.__struct_fields__
}


def check_arguments(arguments: ExampleArguments) -> None:
    """Raise USAGE-007 for arguments that contradict each other or have no effect."""
    idle = [
        field.name
        for field in msgspec.structs.fields(ExampleArguments)
        if getattr(arguments, field.name) != field.default and not getattr(arguments, _BELONGS_TO[field.name])
    ]
    if idle:
        switch = _BELONGS_TO[idle[0]]
        raise _build_usage_error(
            f"{idle[0]} has no effect without {switch}", f"add --dataset-arg {switch}=true"
        )
    if arguments.kate and arguments.globale:
        raise _build_usage_error(
            "kate selects different examples for every row, but globale needs one order for all rows",
            "use only one of them",
        )


def check_dataset(arguments: ExampleArguments, dataset: Dataset, shots: int) -> None:
    """Raise USAGE-007 if a dataset does not support the arguments."""
    requested = [name for name in ("kate", "globale", "ape") if getattr(arguments, name)]
    if not requested:
        return
    kind, name = dataset.evaluation_type, type(dataset).__name__
    if kind == "perplexity":
        raise _build_usage_error(
            f"{name} contains plain texts, which do not support {listing(requested)}", "omit it"
        )
    if arguments.globale and kind != "ranking":
        raise _build_usage_error(
            f"globale compares how often each option is chosen; {name} has no options",
            "use it on a MultipleChoiceDataset",
        )
    needed = 2 if arguments.globale else 1 if arguments.kate else 0
    if shots < needed:
        raise _build_usage_error(
            f"{requested[0]} needs at least {needed} examples, not {shots}", f"use --shots {needed} or more"
        )
    if needed and type(dataset).construct_examples is not Dataset.construct_examples:
        raise _build_usage_error(
            f"{name} builds its own examples in construct_examples, so {requested[0]} cannot select them",
            "omit it",
        )


def _build_usage_error(what: str, fix: str) -> UsageError:
    return UsageError(Problem("USAGE-007", f"--dataset-arg: {what}", fix))
