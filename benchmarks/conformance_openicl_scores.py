"""Whether post-processors and evaluators give what the originals' do, over made-up answers.

    python -m benchmarks.conformance_openicl_scores --checkout DIR

Every combination of evaluator, post-processor and post-processor of right answers that configs have, with its
arguments, is given the same answers on both sides: Assay's compiled entry with `--fidelity faithful`, and the
functions and classes of the checkout. Combinations that Assay runs from the checkout as a whole, that ask a
judge or that run programs are left out. The packages that the original imports must be installed.
"""

from __future__ import annotations

import copy
import inspect
import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from datasets import Dataset

from assay.core.errors import AssayError
from assay.core.response import Completion, Failure, Finish, Output, Response
from assay.core.task import AnsweredRequest
from assay.dialects.openicl.authored.code import AuthorCode, LibraryParts, get_short_name
from assay.dialects.openicl.config.entry import Component, DatasetEntry
from assay.dialects.openicl.entries import ConfigEntry
from assay.dialects.openicl.evaluation import EntryEvaluation
from assay.results.rows import markdown_list, markdown_table
from assay.scoring.originals.opencompass.evaluators.registry import EVALUATORS
from assay.scoring.originals.opencompass.postprocess import ALIASES, POSTPROCESSORS
from benchmarks.openicl_compiled import Compiler, with_fixed_examples
from benchmarks.openicl_entries import count_checkout, distinct_entries
from benchmarks.openicl_made_rows import made_splits
from benchmarks.openicl_original import WAYS
from benchmarks.record import setting

_LEFT_OUT = (
    *("GenericLLMEvaluator", "LMEvaluator", "CascadeEvaluator"),
    *("HumanEvalEvaluator", "MBPPEvaluator", "MBPPEvaluator2", "MBPPPassKEvaluator"),
)
"""Evaluators that ask a judge or run programs."""
_ANSWERS = (
    "{gold}",
    "The answer is {gold}.",
    "The answer is ({gold}).",
    "Let us think. 3 + 4 = 7, so 12 * 2 = 24. The answer is {gold}",
    "So the final answer is $\\boxed{{{gold}}}$.",
    "ANSWER: {gold}",
    "答案是{gold}。",
    "所以选 {gold}",
    "<think>It may be B, or 7.</think>{gold}",
    "{gold}) because of the passage",
    "A",
    "Option B is right, not C.",
    "#### {gold}",
    "Answer: {gold}\nQuestion: another one\nAnswer: 5",
    "I do not know.",
    "",
    "   \n",
    "The result is 1,234.50 dollars",
    "Both A and {gold}",
    "**{gold}**",
    "```\n{gold}\n```",
    "{{'answer': '{gold}'}}",
    "yes, since no other is left",
    "정답은 {gold} 입니다",
)


class Compared(NamedTuple):
    """What came out for one combination."""

    label: str
    n_rows: int = 0
    n_different: int = 0
    """Rows in which the answer that is found differs."""
    first: str | None = None
    scores: str = ""
    """`equal`, `different`, `neither`, or who raised."""


def main() -> None:
    """Compare and hand the counts over."""
    count_checkout(__doc__, "scores", section)


def section(checkout: Path) -> str:
    """Return the counts, and what differs."""
    compiler, original = Compiler(checkout), AuthorCode([], checkout, None, LibraryParts({}, {}))
    compared = [compare(found, compiler, original) for found in combinations(distinct_entries(checkout))]
    outcomes = Counter(one.scores for one in compared)
    rows = [
        ("combinations", f"{len(compared):,}"),
        ("answers read", f"{sum(one.n_rows for one in compared):,}"),
        ("answers read otherwise", f"{sum(one.n_different for one in compared):,}"),
        *((f"scores: {name}", f"{n:,}") for name, n in outcomes.most_common()),
    ]
    parts = [markdown_table(("what", "number"), rows)]
    differing = [f"{one.label}: {one.first}" for one in compared if one.first]
    if differing:
        parts += ["Otherwise:", markdown_list(differing)]
    return "\n\n".join([*parts, setting()])


def combinations(entries: Sequence[ConfigEntry]) -> list[ConfigEntry]:
    """Return one entry for each combination that is Assay's own in part."""
    found: dict[str, ConfigEntry] = {}
    for one in entries:
        entry = one.entry
        assert isinstance(entry, DatasetEntry)
        config = entry.eval_cfg
        is_text = get_short_name(entry.infer_cfg.inferencer.type) == "GenInferencer"
        if config is None or entry.judge_infer_cfg is not None or not is_text or entry.n > 1:
            continue
        parts = (config.evaluator, config.pred_postprocessor, config.dataset_postprocessor)
        names = [get_short_name(part.type) for part in parts if part is not None]
        known = {*EVALUATORS, *POSTPROCESSORS, *ALIASES}
        if names[0] not in _LEFT_OUT and known.intersection(names):
            found.setdefault(repr(parts), one)
    return list(found.values())


class Ours(NamedTuple):
    """What Assay makes of made-up answers."""

    said: list[str]
    rows: list[dict[str, Any]]
    predictions: list[Any]
    evaluation: EntryEvaluation

    def scores(self) -> dict[str, float]:
        """Return what the evaluator says."""
        return dict(self.evaluation.metrics[0](self.predictions, self.evaluation.references()))


def compare(found: ConfigEntry, compiler: Compiler, original: AuthorCode) -> Compared:
    """Give both sides the same answers."""
    entry = found.entry
    assert isinstance(entry, DatasetEntry)
    assert entry.eval_cfg is not None
    config = entry.eval_cfg
    parts = (config.evaluator, config.pred_postprocessor, config.dataset_postprocessor)
    result = Compared(" > ".join(get_short_name(part.type) for part in parts if part is not None))
    try:
        ours = read(found, compiler)
    except AssayError as error:
        return result._replace(scores="Assay refuses", first=f"{error!s:.160}")
    try:
        theirs = read_by_original(config.pred_postprocessor, ours.said, original)
    except Exception as error:  # noqa: BLE001 (whatever the original raises is what is counted)
        return result._replace(scores="original raises", first=f"{type(error).__name__}: {error!s:.120}")
    triples = zip(ours.said, theirs, ours.predictions, strict=True)
    different = [(text, a, b) for text, a, b in triples if _plain(a) != _plain(b)]
    first = f"{different[0]!r:.200}" if different else None
    result = result._replace(n_rows=len(theirs), n_different=len(different), first=first)
    try:
        wanted: Mapping[str, Any] | None = scored_by_original(parts, theirs, ours.rows, entry, original)
    except Exception as error:  # noqa: BLE001 (whatever the original raises is what is counted)
        wanted = None
        result = result._replace(first=first or f"{type(error).__name__}: {error!s:.120}")
    try:
        got: Mapping[str, float] | None = ours.scores()
    except Exception:  # noqa: BLE001 (the evaluator may be the checkout's own)
        got = None
    if wanted is None or got is None:
        who = "both raise" if wanted is got else "original raises" if wanted is None else "Assay raises"
        return result._replace(scores=who)
    # Lengths and the like that the original adds are no scores.
    numbers = {name: one for name, one in wanted.items() if isinstance(one, int | float) and name in got}
    if numbers and all(_is_close(got[name], one) for name, one in numbers.items()):
        return result._replace(scores="equal")
    return result._replace(
        scores="different", first=f"the original has {numbers or wanted!r:.200}, Assay {got}"
    )


def read(found: ConfigEntry, compiler: Compiler) -> Ours:
    """Return what Assay reads in made-up answers to made-up rows."""
    entry = found.entry
    assert isinstance(entry, DatasetEntry)
    bare = found._replace(entry=with_fixed_examples(entry))
    task = compiler.compiled(bare, made_splits(entry, len(_ANSWERS)), WAYS[0], is_faithful=True).task
    samples = list(task.samples())
    said = [
        _ANSWERS[number % len(_ANSWERS)].format(gold=_gold(entry, sample.fields))
        for number, sample in enumerate(samples)
    ]
    (scorer,) = task.scorers()
    evaluation: EntryEvaluation = scorer.args["author"]
    raws = [
        evaluation.raw([AnsweredRequest(task.requests(sample)[0], _response(text))])
        for sample, text in zip(samples, said, strict=True)
    ]
    predictions = evaluation.predictions([None if isinstance(one, Failure) else one for one in raws])
    return Ours(said, [dict(sample.fields) for sample in samples], predictions, evaluation)


def read_by_original(process: Component | None, said: Sequence[str], original: AuthorCode) -> list[Any]:
    """Return what the original reads in answers."""
    if process is None:
        return list(said)
    function = original.find(process.type)
    return [function(text, **copy.deepcopy(process.arguments)) for text in said]


def scored_by_original(
    parts: Sequence[Component | None],
    predictions: Sequence[Any],
    rows: Sequence[Mapping[str, Any]],
    entry: DatasetEntry,
    original: AuthorCode,
) -> Mapping[str, Any]:
    """Return what the original's evaluator says."""
    evaluator, _, process = parts
    assert evaluator is not None
    golds: list[Any] = [row.get(entry.reader_cfg.output_column or "") for row in rows]
    if process is not None:
        function = original.find(process.type)
        golds = [function(gold, **copy.deepcopy(process.arguments)) for gold in golds]
    arguments = {name: one for name, one in evaluator.arguments.items() if name != "pred_postprocessor"}
    made = original.find(evaluator.type)(**arguments)
    test_set = Dataset.from_list([dict(row) for row in rows])
    known = {"predictions": predictions, "references": golds, "gold": golds, "test_set": test_set}
    asked = inspect.signature(made.score).parameters
    said: Mapping[str, Any] = made.score(**{name: one for name, one in known.items() if name in asked})
    return said


def _is_close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6) or (math.isnan(a) and math.isnan(b))


def _gold(entry: DatasetEntry, fields: Mapping[str, Any]) -> str:
    return str(fields.get(entry.reader_cfg.output_column or "", ""))


def _response(text: str) -> Response:
    return Response("", "", Completion((Output(text, Finish.END, 1),), 0))


def _plain(value: Any) -> str:
    """Return what was read as a text: Assay has coordinates as such."""
    return "" if value is None else str(value)


if __name__ == "__main__":
    main()
