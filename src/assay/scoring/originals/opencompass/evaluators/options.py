"""The option that a reply chooses: by letter, by statement, or by text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from assay.core.difference import Difference
from assay.scoring.extract import extract_option
from assay.scoring.originals.opencompass.evaluators.circular import CircularPattern, ColumnCircularEvaluator
from assay.scoring.originals.opencompass.evaluators.evaluator import (
    EvaluatedRow,
    RowEvaluator,
    gold_text,
    require_field,
    to_text,
)
from assay.scoring.originals.opencompass.option_reader import infer_option

_GUESSES = Difference[object](
    "a reply that names no option counts as the nearest option by edit distance: an empty "
    "reply and a lower-case b are A; the first matching phrase of about fifty decides, "
    "wherever it occurs in the text",
    "such a reply is wrong; b is B; the option that the reply states is the answer",
)


class OptionColumns:
    """The options of a dataset, each a column with its text."""

    def __init__(self, letters: Sequence[str], *, is_faithful: bool) -> None:
        wrong = [one for one in letters if len(one) != 1 or not one.isupper()]
        if wrong or not letters or len(set(letters)) < len(letters):
            raise ValueError(f"'options' is {list(letters)!r}; expected capital letters, each once")
        self._letters = tuple(letters)
        self._is_faithful = is_faithful

    def read_choice(self, reply: str, row: EvaluatedRow) -> str | None:
        """Return the letter that a reply chooses; None if it names none."""
        # A row may lack an option, such as the last one in a table with gaps.
        cells = {letter: require_field(row, letter) for letter in self._letters}
        present = {letter: str(text) for letter, text in cells.items() if text is not None}
        if self._is_faithful:
            return infer_option(
                reply, self._letters, [present.get(letter) for letter in self._letters]
            ).answer
        return extract_option(reply, tuple(present), tuple(present.values())).answer


class OptionSimAccEvaluator(RowEvaluator):
    """The percentage of replies that choose the correct option; columns A, B, ... have the option texts."""

    difference: ClassVar[Difference[object] | None] = _GUESSES
    has_details: ClassVar[bool] = True

    def __init__(self, *, options: list[str], is_faithful: bool = False) -> None:
        super().__init__(is_faithful=is_faithful)
        self._options = OptionColumns(options, is_faithful=is_faithful)
        self._n_unanswered = 0

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return `accuracy`."""
        self._n_unanswered = 0
        return super().__call__(predictions, references)

    def judge(self, prediction: Any, row: EvaluatedRow) -> float:
        """Return 1 for the correct option."""
        chosen = self._options.read_choice(to_text(prediction), row)
        self._n_unanswered += chosen is None
        return float(chosen == gold_text(row))

    def notes(self) -> Sequence[str]:
        """Return a note with the number of replies that name no option."""
        return (f"{self._n_unanswered:,} replies name no option",) if self._n_unanswered else ()


class CircularOptionSimAccEvaluator(ColumnCircularEvaluator):
    """The same over all orders of the options, with the values of the circular evaluator."""

    difference: ClassVar[Difference[object] | None] = Difference(
        f"{_GUESSES.original}; otherwise as the circular evaluator",
        f"{_GUESSES.corrected}; otherwise as the circular evaluator",
    )

    def __init__(
        self, *, options: list[str], circular_pattern: CircularPattern = "circular", is_faithful: bool = False
    ) -> None:
        super().__init__(circular_pattern=circular_pattern, is_faithful=is_faithful)
        self._options = OptionColumns(options, is_faithful=is_faithful)

    def is_right(self, prediction: Any, row: EvaluatedRow) -> bool:
        """Whether a reply chooses the correct option."""
        return self._options.read_choice(to_text(prediction), row) == gold_text(row)
