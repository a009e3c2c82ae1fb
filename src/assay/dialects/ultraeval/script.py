"""A transform script, loaded unchanged and called row by row."""

from __future__ import annotations

import inspect
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import (
    RAISED_BY_AUTHORS,
    AuthorError,
    Problem,
    describe_exception,
    listing,
    reraise_interrupt,
    suggest_name,
)
from assay.core.ids import make_random
from assay.core.origin import Origin
from assay.dialects.shared.author_modules import AuthorModules, find_error_line
from assay.dialects.shared.plain_rows import copy_data
from assay.dialects.ultraeval.library import PostProcess, namespaces

_PACKAGE = "UltraEval.datasets"
_SHOWN_VALUE = 160


class TransformedRow(NamedTuple):
    """The result of a script for one row."""

    input: str
    output: str
    """The text after the input in a solved example."""
    answers: tuple[str, ...]
    """The right answers that the model's answer is compared with: `processed_output`."""
    is_list: bool = False
    """Whether the script returned them as a list."""

    @property
    def truth(self) -> str | list[str]:
        """Return `processed_output` as written by the script."""
        return list(self.answers) if self.is_list else self.answers[0]


class BadRow(Exception):
    """A script's result for one row cannot be used; has the message, without the row, and the fix."""

    def __init__(self, what: str, fix: str, line: int | None = None, *, kind: str | None = None) -> None:
        super().__init__(what)
        self.kind = kind or what
        """Groups rows with the same problem; the message can contain a row's own value."""
        self.fix = fix
        self.line = line
        """The line of the script that raised."""


class Generator(random.Random):
    """The random generator of a script: seeded at its first draw, because most scripts never draw."""

    def __init__(self) -> None:
        self._parts: tuple[int, tuple[str, ...]] | None = None
        self.is_used = False
        super().__init__(0)

    def begin(self, seed: int, *parts: str) -> Generator:
        """Use this seed and these names for the next draw."""
        self._parts = (seed, parts)
        return self

    def _start(self) -> None:
        self.is_used = True
        if self._parts is not None:
            seed, parts = self._parts
            self._parts = None
            super().setstate(make_random(seed, *parts).getstate())

    def random(self) -> float:
        """Return the next number between 0 and 1."""
        self._start()
        return super().random()

    def getrandbits(self, k: int, /) -> int:
        """Return the next bits."""
        self._start()
        return super().getrandbits(k)

    def getstate(self) -> tuple[Any, ...]:
        """Return its state."""
        self._start()
        return super().getstate()


class Script:
    """A function `transform(data, num_sample, r, dataset_name)` and its file."""

    def __init__(self, path: Path, postprocessors: Mapping[str, PostProcess], *, is_faithful: bool) -> None:
        self.path = path
        modules = AuthorModules(
            _PACKAGE,
            namespaces(postprocessors, is_faithful=is_faithful),
            folder=path.parent,
            code="ULTRAEVAL-001",
        )
        module = modules.run(path)
        self.files = tuple(modules.files)
        """Its file, and the sibling files that it imports."""
        function = vars(module).get("transform")
        if not callable(function):
            known = [name for name, value in vars(module).items() if inspect.isfunction(value)]
            what = f"the file defines no function 'transform'{suggest_name('transform', known)}"
            raise AuthorError(
                Problem(
                    "ULTRAEVAL-001",
                    f"{what}; it has {listing(known) or 'no functions'}",
                    "write def transform(data, num_sample, r, dataset_name):",
                    Origin(str(path)),
                )
            )
        self._transform = function
        self._check_signature()

    def _check_signature(self) -> None:
        try:
            inspect.signature(self._transform).bind({}, 0, None, "")
        except (TypeError, ValueError) as error:
            what = f"transform cannot be called with (data, num_sample, r, dataset_name): {error}"
            code = getattr(self._transform, "__code__", None)
            fix = "give it these four parameters, in this order"
            where = Origin(str(self.path), line=code and code.co_firstlineno)
            raise AuthorError(Problem("ULTRAEVAL-001", what, fix, where)) from None

    def __call__(
        self, row: Mapping[str, Any], n_shots: int, r: random.Random, dataset_name: str
    ) -> TransformedRow:
        """Transform one row; raise BadRow if the script raises or returns an invalid value."""
        try:
            result = self._transform(copy_data(row), n_shots, r, dataset_name)
        except RAISED_BY_AUTHORS as error:
            reraise_interrupt(error)
            raise self._build_raised_error(error, row) from error
        try:
            text, output, answers = result["input"], result["output"], result["processed_output"]
        except (KeyError, TypeError, IndexError):
            raise self._build_shape_error(result) from None
        if not isinstance(text, str):
            what = f"'input' is {_format_value(text)}, expected a text"
            raise BadRow(what, "return a text under 'input'", kind="input")
        return TransformedRow(
            str(text), _output(output), _answers(answers), is_list=isinstance(answers, (list, tuple))
        )

    def _build_raised_error(self, error: BaseException, row: Mapping[str, Any]) -> BadRow:
        if isinstance(error, KeyError) and error.args:
            near = suggest_name(str(error.args[0]), row)
            what = f"transform uses the field {error}, which does not exist{near}"
        else:
            what = f"transform raised {describe_exception(error)}"
        return BadRow(what, "fix the transform or the row", find_error_line(error, self.path).line)

    def _build_shape_error(self, result: Any) -> BadRow:
        fix = "return {'input': ..., 'output': ..., 'processed_output': ...}"
        if not isinstance(result, Mapping):
            return BadRow(f"transform returned {_format_value(result)}, expected a dict", fix, kind="dict")
        missing = [name for name in ("input", "output", "processed_output") if name not in result]
        near = suggest_name(missing[0], result)
        what = f"transform returned no {missing[0]!r}{near}; it has {listing(result)}"
        return BadRow(what, fix, kind=f"no {missing[0]}")


def _output(value: Any) -> str:
    """Return the answer of an example: the first of several."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], str):
        return str(value[0])
    what = f"'output' is {_format_value(value)}, expected a text or a list of texts"
    raise BadRow(what, "return a text", kind="output")


def _answers(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (str(value),)
    if isinstance(value, (list, tuple)) and value and all(isinstance(text, str) for text in value):
        return tuple(map(str, value))
    fix = "return the right answer as a text, or several as a list of texts"
    what = f"'processed_output' is {_format_value(value)}, expected a text or a list of texts"
    raise BadRow(what, fix, kind="processed_output")


def _format_value(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_VALUE else text[:_SHOWN_VALUE] + "..."
