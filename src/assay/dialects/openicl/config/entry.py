"""One dataset of a config with checked keys: loading, inference and scoring.

The keys of `reader_cfg`, `infer_cfg` and `eval_cfg` are fixed, so an unknown one is an error. All other keys
of an entry are arguments of its loader, which only the loader can check.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from assay.dialects.openicl.config.symbol import Symbol

_AISBENCH = "ais_bench."
RowRange = int | float | str | None
"""Rows of a split: all, a number or share of rows, or a slice as text."""


class Component(msgspec.Struct, frozen=True):
    """A part given by its class or function: a template, a retriever, an evaluator ..."""

    type: Any
    """A `Symbol`, a registered name, or a class or function of the config itself."""
    arguments: dict[str, Any]
    """Its arguments."""


class ReaderConfig(msgspec.Struct, frozen=True):
    """The columns of prompt and answer, and the rows to read."""

    input_columns: tuple[str, ...]
    output_column: str | None
    """The column of the right answer, or None."""
    train_split: str = "train"
    test_split: str = "test"
    train_range: RowRange = None
    test_range: RowRange = None
    input_template: dict[str, Any] | None = None
    output_template: dict[str, Any] | None = None


class InferConfig(msgspec.Struct, frozen=True):
    """The inference settings."""

    retriever: Component
    inferencer: Component
    prompt_template: Component | None = None
    ice_template: Component | None = None
    """The template of an example; without a prompt_template, also that of the prompt."""
    without_effect: tuple[str, ...] = ()
    """Keys of shipped configs that the originals never read."""


class EvalConfig(msgspec.Struct, frozen=True):
    """The scoring settings."""

    evaluator: Component
    pred_postprocessor: Component | None = None
    """Applied to the model's output."""
    dataset_postprocessor: Component | None = None
    """Applied to the right answer."""
    pred_role: str | None = None
    num_gpus: int | None = None
    without_effect: tuple[str, ...] = ()
    """Keys of shipped configs that the originals never read."""


class DatasetEntry(msgspec.Struct, frozen=True):
    """One dataset."""

    abbr: str
    """Its name, for selection."""
    type: Any
    """The class whose `load` returns the rows, as in `Component`."""
    reader_cfg: ReaderConfig
    infer_cfg: InferConfig
    eval_cfg: EvalConfig | None
    """None: answers are collected without scoring."""
    load_arguments: dict[str, Any]
    n: Annotated[int, msgspec.Meta(ge=1)] = 1
    """Number of answers per row."""
    k: tuple[Annotated[int, msgspec.Meta(ge=1)], ...] = (1,)
    """The values of k for scores over several answers (pass@k ...)."""
    judge_infer_cfg: dict[str, Any] | None = None
    """The judge settings of AISBench."""

    @property
    def name(self) -> str:
        """Return the name for the results: the abbr, plus that of the judge if there is one."""
        judge = (self.judge_infer_cfg or {}).get("judge_model", {}).get("abbr")
        return f"{self.abbr}-{judge}" if judge else self.abbr

    @property
    def is_aisbench(self) -> bool:
        """Whether it uses parts of AISBench."""
        named = (self.type, self.infer_cfg.inferencer.type, self.infer_cfg.retriever.type)
        return any(isinstance(one, Symbol) and one.module.startswith(_AISBENCH) for one in named)

    def resolve_k(self, n: int) -> tuple[int, ...]:
        """Return the values of k for pass@k and similar scores, if every row has `n` answers."""
        is_said = self.k != (1,) or self.n > 1
        return self.k if is_said or not self.is_aisbench else (n,)


class TableEntry(msgspec.Struct, frozen=True):
    """A csv or jsonl file that needs no code: an entry without a `type`."""

    abbr: str
    path: str
    given: dict[str, Any]
    """The other keys of the entry, as in a table's meta file."""

    @property
    def name(self) -> str:
        """Return the name for the results."""
        return self.abbr


Entry = DatasetEntry | TableEntry


def is_code_reference(value: object) -> bool:
    """Whether a value can be a `type`."""
    return isinstance(value, Symbol) or (isinstance(value, str) and bool(value)) or callable(value)
