"""One dataset of a config, its keys checked: what to load, how to ask, how to score.

Keys of `reader_cfg`, `infer_cfg` and `eval_cfg` are known, so a wrong one is an error. What else an entry has
are the arguments of its loader, which only the loader knows.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from assay.dialects.openicl.config.symbol import Symbol

_AISBENCH = "ais_bench."
RowRange = int | float | str | None
"""Rows of a split: all, a number or share of them, or a slice as text."""


class Component(msgspec.Struct, frozen=True):
    """A part that is named by its class or function: a template, a retriever, an evaluator ..."""

    type: Any
    """A `Symbol`, a registered name, or a class or function of the config itself."""
    arguments: dict[str, Any]
    """What it is made with."""


class ReaderConfig(msgspec.Struct, frozen=True):
    """Which columns a prompt is made of, and which rows are read."""

    input_columns: tuple[str, ...]
    output_column: str | None
    """The column of the right answer; None where there is none."""
    train_split: str = "train"
    test_split: str = "test"
    train_range: RowRange = None
    test_range: RowRange = None
    input_template: dict[str, Any] | None = None
    output_template: dict[str, Any] | None = None


class InferConfig(msgspec.Struct, frozen=True):
    """How the model is asked."""

    retriever: Component
    inferencer: Component
    prompt_template: Component | None = None
    ice_template: Component | None = None
    """How an example in the prompt looks; alone it serves as the prompt's template too."""
    without_effect: tuple[str, ...] = ()
    """Keys that shipped configs have and the originals never read."""


class EvalConfig(msgspec.Struct, frozen=True):
    """How answers become scores."""

    evaluator: Component
    pred_postprocessor: Component | None = None
    """Applied to what the model wrote."""
    dataset_postprocessor: Component | None = None
    """Applied to the right answer."""
    pred_role: str | None = None
    num_gpus: int | None = None
    without_effect: tuple[str, ...] = ()
    """Keys that shipped configs have and the originals never read."""


class DatasetEntry(msgspec.Struct, frozen=True):
    """One dataset."""

    abbr: str
    """Its name, by which it is chosen."""
    type: Any
    """The class whose `load` returns the rows, as in `Component`."""
    reader_cfg: ReaderConfig
    infer_cfg: InferConfig
    eval_cfg: EvalConfig | None
    """None: answers are collected and not scored."""
    load_arguments: dict[str, Any]
    n: Annotated[int, msgspec.Meta(ge=1)] = 1
    """How often every row is asked."""
    k: tuple[Annotated[int, msgspec.Meta(ge=1)], ...] = (1,)
    """How many of the answers the scores of several count (pass@k ...)."""
    judge_infer_cfg: dict[str, Any] | None = None
    """AISBench: how a judge is asked about the answers."""

    @property
    def name(self) -> str:
        """Return what results are filed under: the abbr, with that of the judge where there is one."""
        judge = (self.judge_infer_cfg or {}).get("judge_model", {}).get("abbr")
        return f"{self.abbr}-{judge}" if judge else self.abbr

    @property
    def is_aisbench(self) -> bool:
        """Whether it is written for AISBench: it names a part of it."""
        named = (self.type, self.infer_cfg.inferencer.type, self.infer_cfg.retriever.type)
        return any(isinstance(one, Symbol) and one.module.startswith(_AISBENCH) for one in named)

    def resolve_k(self, n: int) -> tuple[int, ...]:
        """Return of how many answers pass@k and its like are told, where every row has `n`."""
        is_said = self.k != (1,) or self.n > 1
        return self.k if is_said or not self.is_aisbench else (n,)


class TableEntry(msgspec.Struct, frozen=True):
    """A csv or jsonl file that needs no code: an entry without a `type`."""

    abbr: str
    path: str
    said: dict[str, Any]
    """What else the entry says, as a table's meta file may."""

    @property
    def name(self) -> str:
        """Return what results are filed under."""
        return self.abbr


Entry = DatasetEntry | TableEntry


def is_code_reference(value: object) -> bool:
    """Whether a value can stand as a `type`."""
    return isinstance(value, Symbol) or (isinstance(value, str) and bool(value)) or callable(value)
