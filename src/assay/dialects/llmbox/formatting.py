"""From an author's row to what is shown and scored: `format_instance`, then the instruction.

The row is the author's own dict and is changed in place, as in the original: what the framework makes
(`source`, `target`, `options`, ...) is written back into the dict that `format_instance` returned, since
`references` and templates read it there.
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
"""Keys that an author may read and not set."""


class BadInstance(Exception):
    """What `format_instance` returned cannot be used: what was seen, and the fix."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.fix = fix


class Instance(NamedTuple):
    """A formatted row."""

    sources: tuple[str, ...]
    """The rendered question; several when there are turns or contexts."""
    target: str | None
    """The answer as an example shows it."""
    options: tuple[str, ...] = ()
    """The options as they are scored by likelihood."""
    choices: tuple[str, ...] = ()
    """The options as the author wrote them; with several contexts, these."""
    gold: int | None = None
    has_contexts: bool = False
    """Whether the sources are contexts of one completion, compared with each other."""


class RowFormat(NamedTuple):
    """How rows are formatted in one run."""

    render: Render
    is_faithful: bool
    """Keys and contexts as the original's code has them, where its document says otherwise."""


class _InstanceFields(NamedTuple):
    """What `format_instance` returned of the framework's keys, taken out of its dict and checked."""

    source: Any
    source_idx: int | None
    target: Any
    options: list[str] | None
    gold: int | None

    @classmethod
    def taken(cls, given: dict[str, Any], *, is_ranking: bool) -> _InstanceFields:
        source = given.pop("source", None)
        source_idx = _parse_index(given.pop("source_idx", None), "source_idx")
        target = given.pop("target", None)
        gold = _parse_index(given.pop("target_idx", None), "target_idx")
        options = _parse_options(given.pop("options", None))
        if gold is None and is_ranking:
            # A generation task may have any field called label.
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
    taken = _InstanceFields.taken(given, is_ranking=is_ranking)
    source, target, options = taken.source, taken.target, taken.options
    choices = tuple(options or ())
    shown = _label_options(dataset, taken) if is_ranking and options else None
    if is_ranking and options and taken.gold is not None:
        by_text = dataset.model_evaluation_method == "get_ppl"
        target = options[taken.gold] if by_text else letter(taken.gold)
    is_listed = isinstance(source, (list, tuple))
    if dataset.multi_turn:
        _check_turns(source)
    has_contexts = is_listed and not dataset.multi_turn
    if has_contexts:
        _check_contexts(source, taken.source_idx, target)
        if is_example:
            source = source[taken.source_idx]
    if is_example and target is None:
        raise BadInstance(
            "an example has no target", "return target, or target_idx with options, for example rows too"
        )
    if target is not None and not isinstance(target, str):
        raise BadInstance(f"target is {target!r}, expected a text", "return str(target)")
    faithful = shape.is_faithful
    n_turns = len(source) if is_listed and dataset.multi_turn else (1 if faithful else 0)
    given |= {
        "source": source,
        "target": target,
        "options": shown,
        "source_idx": taken.source_idx,
        "target_idx": taken.gold,
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
        # The original's code leaves the instruction out here; its document puts it around each context.
        sources = tuple(one if faithful else shape.render(given | {"source": one}) for one in source)
        return Instance(sources, target, (), tuple(source), taken.source_idx, has_contexts=True)
    return Instance((shape.render(given),), target, tuple(options or ()), choices, taken.gold)


def _call_format_instance(dataset: Dataset, row: dict[str, Any]) -> dict[str, Any]:
    given: Any = dataset.format_instance(row)
    if not isinstance(given, dict):
        what = f"format_instance returned {type(given).__name__}, expected a dict"
        raise BadInstance(what, "return dict(source=..., ...)")
    for key in _RESERVED_KEYS:
        if key in given:
            what = f"format_instance returned the key {key!r}, which is the framework's own"
            raise BadInstance(what, f"drop {key!r}")
    return given


def _label_options(dataset: Dataset, taken: _InstanceFields) -> str | None:
    """Put labels before the options, in place as the original does; return them as they are shown, if so."""
    options = taken.options or []
    if taken.gold is not None and not 0 <= taken.gold < len(options):
        raise BadInstance(
            f"target_idx is {taken.gold}, but there are {len(options)} options",
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
    """Return the labels of so many options."""
    return tuple(map(letter, range(n)))


def _parse_index(value: Any, name: str) -> int | None:
    """Return an index given as a number of any kind, or as digits."""
    if value is None:
        return None
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    try:
        # numpy's own truth values are no numbers to it.
        return operator.index(value.item() if hasattr(value, "item") else value)
    except TypeError:
        raise BadInstance(
            f"{name} is {value!r}, expected a whole number",
            f'return the index, for a letter: {name}=ord(letter) - ord("A")',
        ) from None


def _parse_label(value: Any, options: Sequence[str] | None) -> int | None:
    """Return `label` as an index where it is one; a row may mean something else by that name."""
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
    # The author's own list is labelled in place, as in the original.
    return value if isinstance(value, list) else list(value)


def _check_turns(source: Any) -> None:
    if source is None or (isinstance(source, (list, tuple)) and source and all(map(_is_text, source))):
        return
    # Without the value of a text, one message goes for all rows.
    seen = f"{source!r:.120}" if isinstance(source, (list, tuple)) else type(source).__name__
    raise BadInstance(
        f"multi_turn is set and source is {seen}, expected a list of texts, one for each turn of the user",
        "return source=[turn, turn, ...], or drop multi_turn",
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
        raise BadInstance("several contexts need the target that follows each", "return target=completion")
