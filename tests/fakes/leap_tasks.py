"""Task classes for tests: written to a file, compiled, asked, scored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.compilation import Compilation
from assay.core.model import Token
from assay.core.prompt import Message, Prompt, final_text, replace_final_text
from assay.core.request import Ask, Generate, Labels, Request, Span
from assay.core.response import Completion, Failure, Finish, LabelProbs, Likelihood, Outcome, Output, Response
from assay.core.score import Metric, Score
from assay.core.task import AnsweredRequest, ComponentSpec, TaskSettings
from assay.dialects.leap.compile import LeapTools, compile_tasks
from assay.dialects.leap.task import LeapTask
from assay.scoring.aggregate import MeanAggregator
from assay.scoring.originals.leap.aggregations import AGGREGATIONS, Bleurt, packages_lacking
from assay.scoring.originals.leap.task_results import TaskResults
from assay.scoring.scorers.registry import make_scorer

Rows = Sequence[Mapping[str, Any]]

HEAD = """
from .base import Task, rf
from .metrics import *

class Base(Task):
    DATASET_PATH = None
    def load(self, data_dir=None, cache_dir=None):
        import json, pathlib
        self.dataset = json.loads((pathlib.Path(__file__).parent / "rows.json").read_text(encoding="utf-8"))
    def has_training_docs(self):
        return "train" in self.dataset
    def has_validation_docs(self):
        return "validation" in self.dataset
    def has_test_docs(self):
        return "test" in self.dataset
    def training_docs(self):
        return self.dataset["train"]
    def validation_docs(self):
        return self.dataset["validation"]
    def test_docs(self):
        return self.dataset["test"]
    def doc_to_text(self, doc):
        return doc["q"]
    def doc_to_target(self, doc):
        return " " + doc["a"]
    def aggregation(self):
        return {"acc": mean}
    def higher_is_better(self):
        return {"acc": True}
"""
CHOICE = (
    HEAD
    + """
class Choice(Base):
    def construct_requests(self, doc, ctx):
        return [rf.loglikelihood(ctx, " " + one)[0] for one in ("yes", "no")]
    def process_results(self, doc, results):
        return {"acc": ("yes", "no")[results.index(max(results))] == doc["a"]}
"""
)
FREE = (
    HEAD
    + """
class Free(Base):
    def request_type(self):
        return "greedy_until"
    def construct_requests(self, doc, ctx):
        return rf.greedy_until(ctx, {"until": ["\\n"]})
    def process_results(self, doc, results):
        return {"acc": results[0] == doc["a"]}
"""
)
"""Classes over rows with `q` and `a` that lie beside their file: options `yes` and `no`, and free answers."""


def tools(cache: Path, **more: Any) -> LeapTools:
    """Return what the app hands over."""
    functions = {**AGGREGATIONS, "bleurt": Bleurt(lambda *_: [])}
    return LeapTools(functions, packages_lacking, cache, **more)


def questions(n: int, first: int = 0) -> list[dict[str, str]]:
    """Return so many documents, all different."""
    return [
        {"q": f"Is {number} even?", "a": "no" if number % 2 else "yes"} for number in range(first, first + n)
    ]


def compile_text(
    folder: Path,
    text: str,
    rows: Mapping[str, Rows] | None = None,
    *,
    name: str = "mine",
    selection: str = "",
    data_root: Path | None = None,
    tokens: Callable[[Ask], Sequence[Token]] | None = None,
    **settings: Any,
) -> list[Compilation[LeapTask]]:
    """Compile the classes of a file; rows are put beside it."""
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    if rows is not None:
        (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    made = tools(folder / "cache", data_root=data_root, tokens=tokens)
    return compile_tasks(f"{path}{selection}", TaskSettings(**settings), made)


def compile_one(
    folder: Path, text: str, rows: Mapping[str, Rows] | None = None, **more: Any
) -> Compilation[LeapTask]:
    """Compile a file with one class."""
    (one,) = compile_text(folder, text, rows, **more)
    return one


def contexts(one: Compilation[LeapTask]) -> list[str]:
    """Return the context of each document's first request, blanks of the join aside."""
    found = []
    for sample in one.task.samples():
        ask = one.task.requests(sample)[0].ask
        found.append(final_text(before(ask)))
    return found


def before(ask: Ask) -> Prompt:
    """Return the text before the answer."""
    if isinstance(ask, Span):
        return replace_final_text(ask.prompt, final_text(ask.prompt)[: ask.start])
    return ask.prompt


def scored(ask: Ask) -> str:
    """Return what is scored."""
    assert isinstance(ask, Span)
    return final_text(ask.prompt)[ask.start :]


def asks(one: Compilation[LeapTask], number: int = 0, **more: Any) -> list[Ask]:
    """Return what is asked about a document."""
    sample = list(one.task.samples())[number]
    return [request.ask for request in one.task.requests(sample, **more)]


class Evaluated(NamedTuple):
    """What came out for a task."""

    scores: list[Score]
    metrics: dict[str, Metric]
    """Of the whole task, by name."""


def evaluated(one: Compilation[LeapTask], answer: Callable[[Request], Outcome]) -> Evaluated:
    """Score a task of one method, with a function in the model's place."""
    (spec,) = one.task.scorers()
    assert isinstance(spec, ComponentSpec)
    scorer = make_scorer(spec)
    assert isinstance(scorer, TaskResults)
    for sample in one.task.samples():
        requests = one.task.requests(sample)
        scorer.add(
            sample,
            [AnsweredRequest(asked, Response(asked.id, asked.key, answer(asked))) for asked in requests],
        )
    evaluation = scorer.finish()
    aggregator = MeanAggregator()
    aggregator.take(evaluation)
    return Evaluated(list(evaluation.scores), {m.metric: m for m in aggregator.metrics() if m.group is None})


def likely(total: float, is_greedy: bool | None = False, *parts: float) -> Likelihood:
    """Return an answer to a SPAN ask."""
    return Likelihood(total, max(1, len(parts)), 1, 1, is_greedy, 1, token_logprobs=parts)


def written(text: str, finish: Finish = Finish.END) -> Completion:
    """Return an answer in words."""
    return Completion((Output(text, finish, 1),), 1)


def shares(*probs: float) -> LabelProbs:
    """Return an answer to a LABELS ask."""
    return LabelProbs(probs, sum(probs), 1)


def failure(message: str = "too long") -> Failure:
    """Return no answer."""
    return Failure("too_long", message)


__all__ = [
    "CHOICE", "FREE", "HEAD", "Evaluated", "Generate", "Labels", "Message", "Span",
    "asks", "before", "compile_one", "compile_text", "contexts", "evaluated", "failure", "likely",
    "questions", "scored", "shares", "tools", "written",
]  # fmt: skip
