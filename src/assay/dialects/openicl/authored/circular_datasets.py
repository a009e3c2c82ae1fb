"""`CircularDatasetMeta`: makes of an author's dataset class one whose questions come in several orders."""

from __future__ import annotations

from typing import Any

from assay.dialects.openicl.circular import CircularPattern, MoveAnswer, build_circular_rows
from assay.sources.datasets_library import quiet_datasets_library


class CircularDatasetMeta(type):
    """The metaclass of such classes; they say in attributes what is turned.

    `dataset_class` loads the rows; of several splits those in `default_circular_splits` are turned.
    `default_option_keys` and `default_answer_key` name the columns, unless an entry names others;
    `default_answer_key_switch_method(row, order)` moves an answer that is no such key.
    """

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        """Replace what loads the rows by what turns them."""
        super().__init__(name, bases, namespace)
        cls.load = classmethod(_load_circular)


def _load_circular(
    cls: Any, circular_patterns: CircularPattern = "circular", *args: Any, **kwargs: Any
) -> Any:
    options = kwargs.pop("option_keys", None) or getattr(cls, "default_option_keys", None)
    answer = kwargs.pop("answer_key", None) or getattr(cls, "default_answer_key", None)
    move: MoveAnswer | None = getattr(cls, "default_answer_key_switch_method", None)
    if not options or (answer is None) == (move is None):
        raise ValueError(
            f"{cls.__name__} must name the columns of the options (default_option_keys), and either that of "
            "the answer (default_answer_key) or how it moves (default_answer_key_switch_method)"
        )
    loaded = cls.dataset_class.load(*args, **kwargs)

    def turned(rows: Any) -> Any:
        made = list(build_circular_rows(rows, options, answer, circular_patterns, move_answer=move))
        with quiet_datasets_library() as datasets:
            return datasets.Dataset.from_list(made)

    if not isinstance(loaded, dict):
        return turned(loaded)
    wanted = getattr(cls, "default_circular_splits", None) or ()
    return {split: turned(rows) if split in wanted else rows for split, rows in loaded.items()}
