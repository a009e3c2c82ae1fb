"""What a person may ask of examples and instruction beyond `--shots`: KATE, GlobalE and APE.

Says which wishes contradict each other or the dataset; carries none of them out.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from assay.core.errors import Problem, UsageError, listing
from assay.dialects.llmbox.authoring import Dataset

Count = Annotated[int, msgspec.Meta(ge=1)]


class ExampleArguments(msgspec.Struct, frozen=True):
    """The part of `--dataset-arg` that is about examples and instruction."""

    kate: bool = False
    """Show each row the examples nearest to it."""
    kate_order: Literal["nearest_last", "nearest_first"] | None = None
    """Where the nearest stands: next to the question, or furthest from it."""
    embedder: str | None = None
    """Folder of the sentence encoder that says what is near."""
    globale: bool = False
    """Put the examples into the order in which the model's answers are spread most evenly."""
    globale_probes: Literal["pool", "generated"] = "pool"
    """Where the questions come from on which orders are tried."""
    globale_rows: Count = 50
    """How many of them, at most."""
    globale_orders: Annotated[int, msgspec.Meta(ge=2)] = 24
    """Orders that are tried, at most; 24 are all orders of four examples."""
    ape: bool = False
    """Let the model find an instruction."""
    ape_proposals: Count = 16
    """Instructions that the model proposes."""
    ape_examples: Count = 5
    """Solved rows that it sees for each."""
    ape_rows: Count = 32
    """Rows on which the proposals are compared, at most."""


_BELONGS_TO = {
    name: "kate" if name == "embedder" else name.partition("_")[0]
    for name in ExampleArguments.__struct_fields__
}


def check_arguments(asked: ExampleArguments) -> None:
    """Raise USAGE-007 for wishes that contradict each other, or that nothing would come of."""
    idle = [
        field.name
        for field in msgspec.structs.fields(ExampleArguments)
        if getattr(asked, field.name) != field.default and not getattr(asked, _BELONGS_TO[field.name])
    ]
    if idle:
        switch = _BELONGS_TO[idle[0]]
        raise _build_usage_error(
            f"{idle[0]} says how to do {switch}, which is not asked for", f"add --dataset-arg {switch}=true"
        )
    if asked.kate and asked.globale:
        raise _build_usage_error(
            "kate chooses other examples for every row, globale one order for all rows",
            "ask for one of the two",
        )


def check_dataset(asked: ExampleArguments, dataset: Dataset, shots: int) -> None:
    """Raise USAGE-007 when a dataset has no use for what is asked."""
    wished = [name for name in ("kate", "globale", "ape") if getattr(asked, name)]
    if not wished:
        return
    kind, name = dataset.evaluation_type, type(dataset).__name__
    if kind == "perplexity":
        raise _build_usage_error(
            f"{name} holds plain texts, which have no use for {listing(wished)}", "leave it away"
        )
    if asked.globale and kind != "ranking":
        raise _build_usage_error(
            f"globale compares how often each option is chosen; {name} has no options",
            "use it on a MultipleChoiceDataset",
        )
    needed = 2 if asked.globale else 1 if asked.kate else 0
    if shots < needed:
        raise _build_usage_error(
            f"{wished[0]} needs {needed} examples or more, not {shots}", f"--shots {needed}, or more"
        )
    if needed and type(dataset).construct_examples is not Dataset.construct_examples:
        raise _build_usage_error(
            f"{name} builds its examples itself, in construct_examples, so {wished[0]} cannot choose them",
            "leave it away",
        )


def _build_usage_error(what: str, fix: str) -> UsageError:
    return UsageError(Problem("USAGE-007", f"--dataset-arg: {what}", fix))
