"""One method of a task with all its rows transformed: the parts of its prompts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import AuthorError, Problem, Problems
from assay.core.origin import Origin
from assay.core.sample import Sample
from assay.dialects.shared.fewshot import ShotPolicy, ShotPool
from assay.dialects.ultraeval.rows import OPTIONS, Row
from assay.dialects.ultraeval.script import BadRow, Generator, Script, TransformedRow

_SHOWN_ROW = 160
"""Maximum characters of a row in an error."""
_SHOWN_ROWS = 5


class PromptParts(NamedTuple):
    """The parts of a prompt."""

    shots: tuple[TransformedRow, ...]
    transformed: TransformedRow
    n_left_out: int = 0
    is_emptied: bool = False
    """Whether all examples drawn for it are the row itself, and were dropped."""

    def at_most(self, n: int | None) -> PromptParts:
        """Return the same with at most `n` examples: those nearest to the question."""
        excess = 0 if n is None else max(0, len(self.shots) - n)
        return (
            self
            if not excess
            else self._replace(shots=self.shots[excess:], n_left_out=self.n_left_out + excess)
        )


class TransformRunner:
    """A script for one task: every call has the same task name and number of examples."""

    def __init__(self, script: Script, full_name: str, n_shots: int, *, seed: int) -> None:
        self.script = script
        self.full_name = full_name
        self.n_shots = n_shots
        self._seed = seed
        self._generator = Generator()

    def row(self, row: Row) -> TransformedRow:
        """Transform a row. The script's draws depend only on the seed, the task and the row."""
        r = self._generator.begin(self._seed, self.full_name, row.id, "transform")
        return self.script(row.fields, self.n_shots, r, self.full_name)

    def rows(self, rows: Sequence[Row]) -> list[TransformedRow]:
        """Transform rows; raise one AuthorError for all invalid ones."""
        transformed: list[TransformedRow] = []
        faults: dict[tuple[str, int | None], tuple[BadRow, list[Row]]] = {}
        for row in rows:
            try:
                transformed.append(self.row(row))
            except BadRow as error:
                faults.setdefault((error.kind, error.line), (error, []))[1].append(row)
        problems = Problems()
        for fault, some in faults.values():
            problems.add(_build_row_problem(fault, some, self.script.path.name))
        problems.raise_if_any()
        return transformed

    def redraw_row(self, row: Row, r: random.Random) -> TransformedRow:
        """Transform a row again, drawing from a shared generator."""
        try:
            return self.script(row.fields, self.n_shots, r, self.full_name)
        except BadRow as error:
            raise AuthorError(_build_row_problem(error, [row], self.script.path.name)) from error

    @property
    def draws(self) -> bool:
        """Whether the script has drawn from its generator."""
        return self._generator.is_used


class SeededShots:
    """Examples that depend only on the seed, the task and the row; never the row itself."""

    def __init__(
        self,
        transforming: TransformRunner,
        samples: Sequence[Sample],
        transformed: Sequence[TransformedRow],
        examples: tuple[Sequence[Sample], Sequence[TransformedRow]] | None,
        *,
        policy: ShotPolicy,
        seed: int,
        task: str,
        source: str,
    ) -> None:
        """Take the rows and, if the examples come from another file, those."""
        self._transformed = dict(zip((sample.id for sample in samples), transformed, strict=True))
        pool, pool_made = examples or (samples, transformed)
        texts = {id(sample): made for sample, made in zip(pool, pool_made, strict=True)}

        def question(sample: Sample) -> str:
            return (texts[id(sample)] if id(sample) in texts else self._transformed[sample.id]).input

        self._pool = ShotPool(
            pool, transforming.n_shots, policy=policy, seed=seed, task=task, question=question
        )
        self._solved = [texts[id(sample)] for sample in self._pool.members]
        spare = min((self._pool.n_left(sample) for sample in samples), default=0)
        if spare < transforming.n_shots:
            raise AuthorError(_build_too_few_problem(transforming.n_shots, spare, source))

    def parts(self, sample: Sample, copy: int = 0) -> PromptParts:
        """Return the parts of a sample's prompt, the same for every copy of it."""
        shots = tuple([self._solved[i] for i in self._pool.pick_examples(sample)])
        return PromptParts(shots, self._transformed[sample.id])


class OriginalShots:
    """Examples drawn as in the original: one generator for all rows in order.

    For each prompt, one row more than needed is drawn from all rows; rows equal to the own one are dropped.
    """

    def __init__(
        self,
        transforming: TransformRunner,
        rows: Sequence[Row],
        transformed: Sequence[TransformedRow],
        *,
        seed: int,
        n_copies: int,
        source: str,
    ) -> None:
        n_shots = transforming.n_shots
        if len(rows) <= n_shots:
            raise AuthorError(_build_too_few_problem(n_shots, len(rows) - 1, source))
        generator = random.Random(seed)
        draw = self._redraw_parts if transforming.draws else self._draw_parts
        self._parts: dict[str, list[PromptParts]] = {}
        for number, row in enumerate(rows):
            self._parts[row.id] = [
                draw(transforming, rows, transformed, number, generator) for _ in range(n_copies)
            ]

    def parts(self, sample: Sample, copy: int = 0) -> PromptParts:
        """Return the parts of the prompt for one copy of a sample."""
        return self._parts[sample.id][copy]

    @staticmethod
    def _pick_rows(rows: Sequence[Row], number: int, n_shots: int, generator: random.Random) -> list[int]:
        picked = generator.sample(range(len(rows)), n_shots + 1)
        row_fields = rows[number].fields
        return [at for at in picked if rows[at].fields != row_fields][:n_shots]

    @classmethod
    def _draw_parts(
        cls,
        transforming: TransformRunner,
        rows: Sequence[Row],
        transformed: Sequence[TransformedRow],
        number: int,
        generator: random.Random,
    ) -> PromptParts:
        picked = cls._pick_rows(rows, number, transforming.n_shots, generator)
        return PromptParts(
            tuple(transformed[at] for at in picked), transformed[number], is_emptied=not picked
        )

    @classmethod
    def _redraw_parts(
        cls,
        transforming: TransformRunner,
        rows: Sequence[Row],
        _: Sequence[TransformedRow],
        number: int,
        generator: random.Random,
    ) -> PromptParts:
        """Call a script that draws: every example and the question start from the same state."""

        def transform(at: int) -> TransformedRow:
            return transforming.redraw_row(rows[at], generator)

        shots = []
        picked = cls._pick_rows(rows, number, transforming.n_shots, generator)
        state = generator.getstate()
        for at in picked:
            shots.append(transform(at))
            generator.setstate(state)
        return PromptParts(tuple(shots), transform(number), is_emptied=not picked)


class NoShots:
    """No examples."""

    def __init__(self, samples: Sequence[Sample], transformed: Sequence[TransformedRow]) -> None:
        self._transformed = dict(zip((sample.id for sample in samples), transformed, strict=True))

    def parts(self, sample: Sample, copy: int = 0) -> PromptParts:
        """Return the parts of a sample's prompt."""
        return PromptParts((), self._transformed[sample.id])


def _build_row_problem(error: BadRow, rows: Sequence[Row], script: str) -> Problem:
    """Return one problem for all rows with the same fault: the first in full, the others by number."""
    first, *others = rows
    line = f" line {error.line}" if error.line else ""
    row = msgspec.json.encode(first.fields).decode()
    row = row if len(row) <= _SHOWN_ROW else row[:_SHOWN_ROW] + "..."
    what, fix = f"{script}{line}: {error}; the row is {row}", error.fix
    if others:
        numbers = ", ".join(str(other.origin.row) for other in others[:_SHOWN_ROWS])
        more = f" and {len(others) - _SHOWN_ROWS:,} more" if len(others) > _SHOWN_ROWS else ""
        what += f"; the same in {'row' if len(others) == 1 else 'rows'} {numbers}{more}"
    if error.line and first.choices and not first.gold:
        what += f"; no option in {OPTIONS!r} is right"
        fix = f"give the right option the value 1 in {OPTIONS!r}, or fix the transform"
    return Problem("ULTRAEVAL-005", what, fix, first.origin)


def build_sample(row: Row, answers: tuple[str, ...]) -> Sample:
    """Return a row as a sample."""
    return Sample(row.id, _convert_fields(row.fields), row.origin, row.choices, row.labels, row.gold, answers)


def _convert_fields(fields: Any) -> dict[str, Any]:
    return fields if isinstance(fields, dict) else dict(fields)


def _build_too_few_problem(n_shots: int, spare: int, source: str) -> Problem:
    usable = "row is usable" if spare == 1 else "rows are usable"
    what = f"{n_shots} examples were requested, but only {max(spare, 0)} {usable}"
    fix = "use fewer with --shots, or a larger file with --shots-from"
    return Problem("ULTRAEVAL-008", what, fix, Origin(source))
