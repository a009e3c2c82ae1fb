"""Format an author's row: `format_instance`, then the instruction.

The row is the author's own dict and is changed in place, as in the original. The framework's values
(`source`, `target`, `options`, ...) are written into the dict that `format_instance` returned, because
`references` and templates read them there.
"""

from __future__ import annotations

import operator
import string
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from assay.dialects.llmbox.authoring import Dataset, MultipleChoiceDataset
from assay.dialects.llmbox.instruction import Render

_LETTERS = string.ascii_uppercase
_RESERVED_KEYS = ("dataset_name", "subset_name", "display_name", "real_num_shots")
"""Keys that an author can read but not set."""


class BadInstance(Exception):
    """The return value of `format_instance` cannot be used; has the problem and the fix."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.fix = fix


class Instance(NamedTuple):
    """A formatted row."""

    sources: tuple[str, ...]
    """The rendered question; several for turns or contexts."""
    target: str | None
    """The answer as shown in an example."""
    options: tuple[str, ...] = ()
    """The options as scored by likelihood."""
    choices: tuple[str, ...] = ()
    """The options as the author wrote them, or the contexts."""
    gold: int | None = None
    has_contexts: bool = False
    """Whether the sources are contexts of one completion that are compared with each other."""


class RowFormat(NamedTuple):
    """How rows are formatted in one run."""

    render: Render
    is_faithful: bool
    """Whether keys and contexts follow the original's code where its documentation differs."""


class _InstanceFields(NamedTuple):
    """The framework's keys of a `format_instance` result, removed from its dict and checked."""

    source: Any
    source_idx: int | None
    target: Any
    options: list[str] | None
    gold: int | None

    @classmethod
    def from_author(cls, given: dict[str, Any], *, is_ranking: bool) -> _InstanceFields:
        source = given.pop("source", None)
        source_idx = _parse_index(given.pop("source_idx", None), "source_idx")
        target = given.pop("target", None)
        gold = _parse_index(given.pop("target_idx", None), "target_idx")
        options = _parse_options(given.pop("options", None))
        if gold is None and is_ranking:
            # A generation task can have any field called label.
            gold = _parse_label(given.get("label"), options)
        return cls(source, source_idx, target, options, gold)


def format_row(
    dataset: Dataset,
    row: dict[str, Any],
    shape: RowFormat,
    *,
    example_idx: int = -1,
    real_num_shots: int | None = None,
) -> Instance:
    """Format one row, of the evaluation data or (with an index) of the examples."""
    given = _call_format_instance(dataset, row)
    is_example = example_idx >= 0
    is_ranking = dataset.evaluation_type == "ranking"
    fields = _InstanceFields.from_author(given, is_ranking=is_ranking)
    source, target, options = fields.source, fields.target, fields.options
    choices = tuple(options or ())
    labeled = _label_options(dataset, fields) if is_ranking and options else None
    if is_ranking and options and fields.gold is not None:
        by_text = dataset.model_evaluation_method == "get_ppl"
        target = options[fields.gold] if by_text else letter(fields.gold)
    is_listed = isinstance(source, (list, tuple))
    if dataset.multi_turn:
        _check_turns(source)
    has_contexts = is_listed and not dataset.multi_turn
    if has_contexts:
        _check_contexts(source, fields.source_idx, target)
        if is_example:
            source = source[fields.source_idx]
    if is_example and target is None:
        raise BadInstance(
            "an example has no target", "also return target, or target_idx with options, for example rows"
        )
    if target is not None and not isinstance(target, str):
        raise BadInstance(f"target is {target!r}, expected a text", "return str(target)")
    faithful = shape.is_faithful
    n_turns = len(source) if is_listed and dataset.multi_turn else (1 if faithful else 0)
    given |= {
        "source": source,
        "target": target,
        "options": labeled,
        "source_idx": fields.source_idx,
        "target_idx": fields.gold,
        "example_idx": example_idx,
        "turn_idx": -1 if is_example and not faithful else 0,
        "num_turns": n_turns,
        "dataset_name": dataset.dataset_name,
        "subset_name": dataset.subset_name,
        "display_name": dataset.display_name,
        "real_num_shots": real_num_shots,
    }
    if is_listed and dataset.multi_turn:
        return Instance(tuple(shape.render(given | {"turn_idx": n}) for n in range(n_turns)), target)
    if has_contexts and not is_example:
        # The original's code omits the instruction here; its documentation puts it around each context.
        sources = tuple(
            context if faithful else shape.render(given | {"source": context}) for context in source
        )
        return Instance(sources, target, (), tuple(source), fields.source_idx, has_contexts=True)
    return Instance((shape.render(given),), target, tuple(options or ()), choices, fields.gold)


def _call_format_instance(dataset: Dataset, row: dict[str, Any]) -> dict[str, Any]:
    given: Any = dataset.format_instance(row)
    if not isinstance(given, dict):
        what = f"format_instance returned {type(given).__name__}, expected a dict"
        raise BadInstance(what, "return dict(source=..., ...)")
    for key in _RESERVED_KEYS:
        if key in given:
            what = f"format_instance returned the key {key!r}, which is reserved for the framework"
            raise BadInstance(what, f"remove {key!r}")
    return given


def _label_options(dataset: Dataset, fields: _InstanceFields) -> str | None:
    """Add labels to the options in place, as the original does; return the text that shows them, or None."""
    options = fields.options or []
    if fields.gold is not None and not 0 <= fields.gold < len(options):
        raise BadInstance(
            f"target_idx is {fields.gold}, but there are {len(options)} options",
            f"return an index from 0 to {len(options) - 1}",
        )
    if not isinstance(dataset, MultipleChoiceDataset) or not dataset.ranking_with_options:
        return None
    options[:] = [
        f"{label}. {text.lstrip()}" for label, text in zip(letters(len(options)), options, strict=True)
    ]
    return "\n".join(options)


def letter(index: int) -> str:
    """Return the label of an option: A, B, ..., Z, AA, AB, ..."""
    return _LETTERS[index] if index < 26 else letter(index // 26 - 1) + letter(index % 26)


@lru_cache(maxsize=64)
def letters(n: int) -> tuple[str, ...]:
    """Return the labels of `n` options."""
    return tuple(map(letter, range(n)))


def _parse_index(value: Any, name: str) -> int | None:
    """Return an index given as any kind of number, or as digits."""
    if value is None:
        return None
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    try:
        # numpy's own booleans are not numbers for `operator.index`.
        return operator.index(value.item() if hasattr(value, "item") else value)
    except TypeError:
        raise BadInstance(
            f"{name} is {value!r}, expected a whole number",
            f'return the index; for a letter, use {name}=ord(letter) - ord("A")',
        ) from None


def _parse_label(value: Any, options: Sequence[str] | None) -> int | None:
    """Return `label` as an index if it is one; a row can use that name for something else."""
    if value is None or options is None or (isinstance(value, str) and not value.strip().isdecimal()):
        return None
    index = _parse_index(value, "label")
    # Datasets write -1 for a hidden answer.
    return index if index is not None and index >= 0 else None


def _parse_options(value: Any) -> list[str] | None:
    if value is None:
        return None
    if not isinstance(value, (list, tuple)):
        raise BadInstance(
            f"options is {type(value).__name__}, expected a list of texts", "return options=[...] as a list"
        )
    for text in value:
        if not isinstance(text, str):
            raise BadInstance(f"an option is {text!r}, expected a text", "return str(option) for each option")
    # The author's own list is labeled in place, as in the original.
    return value if isinstance(value, list) else list(value)


def _check_turns(source: Any) -> None:
    if source is None or (isinstance(source, (list, tuple)) and source and all(map(_is_text, source))):
        return
    # Without the value of a text, so that all rows share one message.
    found = f"{source!r:.120}" if isinstance(source, (list, tuple)) else type(source).__name__
    raise BadInstance(
        f"multi_turn is set and source is {found}, expected a list of texts, one per user turn",
        "return source=[turn, turn, ...], or remove multi_turn",
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _check_contexts(source: Sequence[Any], source_idx: int | None, target: Any) -> None:
    if not source or not all(map(_is_text, source)):
        raise BadInstance(f"source is {source!r:.120}, expected texts", "return source=[text, text, ...]")
    if source_idx is None or not 0 <= source_idx < len(source):
        raise BadInstance(
            f"source has {len(source)} contexts and source_idx is {source_idx}",
            f"return source_idx from 0 to {len(source) - 1}",
        )
    if target is None:
        raise BadInstance("several contexts need a target that follows them", "return target=completion")
