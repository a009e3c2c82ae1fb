"""Dataset classes for tests: written to a file, compiled, asked, scored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.compilation import Compilation
from assay.core.ports import Embedder
from assay.core.prompt import Prompt, final_text, replace_final_text
from assay.core.request import Generate, Labels, Request, Span
from assay.core.response import Completion, Finish, Likelihood, Outcome, Output, Response
from assay.core.score import Metric, Score
from assay.core.task import AnsweredRequest, ComponentSpec, TaskSettings
from assay.dialects.llmbox.authoring import ModelView
from assay.dialects.llmbox.compile import LlmboxTools, compile_classes
from assay.dialects.llmbox.library.raw_data import RawData
from assay.dialects.llmbox.task import ClassTask
from assay.scoring.aggregate import MeanAggregator
from assay.scoring.metrics import AUTHOR_NAMES
from assay.scoring.originals.llmbox.author_metrics import AuthorMetrics
from assay.scoring.scorers.registry import make_scorer
from assay.sources.hub import LocalHub

Rows = Sequence[Mapping[str, Any]]


def words(text: str) -> list[int]:
    """Divide a text at spaces; what a word's number is does not matter."""
    return list(range(len(text.split())))


def free_class(name: str = "Free", instruction: str = "{q}") -> str:
    """Return a class of free answers, over rows with `q` and `a`."""
    return f"""
from ..metric import Em
from .generation_dataset import GenerationDataset

class {name}(GenerationDataset):
    instruction = "{instruction}"
    metrics = [Em()]
    def format_instance(self, instance):
        return dict(q=instance["q"], target=instance["a"])
    @property
    def references(self):
        return [row["a"] for row in self.evaluation_data]
"""


def compile_text(
    folder: Path,
    text: str,
    rows: Rows | None = None,
    *,
    examples: Rows | None = None,
    hub: Path | None = None,
    prefix: str = "",
    selection: str = "",
    model_type: Any = "base",
    settings: Mapping[str, Any] | None = None,
    embedder_at_hand: Embedder | None = None,
    **dataset_args: str,
) -> list[Compilation[ClassTask]]:
    """Compile a class written in a file of its own; rows are put where it looks for them."""
    path = folder / "my_dataset.py"
    path.write_text(text, encoding="utf-8")
    if rows is not None:
        for split, some in (("test", rows), ("dev", examples or ())):
            (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some), "utf-8")
        dataset_args = {
            "dataset_path": str(folder / "{split}.jsonl"),
            "evaluation_set": "test",
            **({"example_set": "dev"} if examples else {}),
            **dataset_args,
        }
    made = TaskSettings(is_chat=model_type == "chat", dataset_args=dataset_args, **(settings or {}))
    data = RawData(None if hub is None else LocalHub(hub), dataset_args.get("dataset_path"), beside=folder)
    view = ModelView("test", model_type, words, lambda ids: " ".join(map(str, ids)))

    def open_embedder(folder: str | None) -> Embedder:
        assert embedder_at_hand is not None, "the test hands no encoder over"
        return embedder_at_hand

    tools = LlmboxTools(AUTHOR_NAMES, data, view, open_embedder, {})
    return compile_classes(f"{prefix}{path}{selection}", made, tools)


def compile_one(folder: Path, text: str, rows: Rows | None = None, **more: Any) -> Compilation[ClassTask]:
    """Compile a class that has one subset, or none."""
    (one,) = compile_text(folder, text, rows, **more)
    return one


def list_asks(one: Compilation[ClassTask], number: int = 0, role: str | None = None) -> list[dict[str, Any]]:
    """Return what is asked about a row in the document's words: a source, and the target that is scored."""
    sample = list(one.task.samples())[number]
    found: list[dict[str, Any]] = []
    for request in one.task.requests(sample):
        if role is not None and request.role != role:
            continue
        ask = request.ask
        if isinstance(ask, Span):
            text = final_text(ask.prompt)
            before: Prompt = replace_final_text(ask.prompt, text[: ask.start])
            found.append({"source": before, "target": text[ask.start :].lstrip(" ")})
        elif isinstance(ask, Labels):
            found.append({"source": ask.prompt, "labels": [names[-1] for names in ask.labels]})
        elif isinstance(ask, Generate):
            found.append({"source": ask.prompt, "turns": ask.turns, "sampling": ask.sampling})
    return found


class Evaluated(NamedTuple):
    """What came out for a class: a score for each row and method, and the numbers over all."""

    scores: dict[str, list[Score]]
    """By method, in the order of the rows."""
    metrics: dict[tuple[str, str, str | None], Metric]
    """By method, name and group."""


def evaluated(one: Compilation[ClassTask], answer: Callable[[Request], Outcome]) -> Evaluated:
    """Score a class, with a function in the model's place."""
    scorers = [make_scorer(spec) for spec in one.task.scorers() if isinstance(spec, ComponentSpec)]
    for sample in one.task.samples():
        requests = one.task.requests(sample)
        answers = [
            AnsweredRequest(asked_, Response(asked_.id, asked_.key, answer(asked_))) for asked_ in requests
        ]
        for scorer in scorers:
            assert isinstance(scorer, AuthorMetrics)
            scorer.add(sample, [one_ for one_ in answers if one_.request.track == scorer.track])
    aggregator = MeanAggregator()
    scores: dict[str, list[Score]] = {}
    for scorer in scorers:
        assert isinstance(scorer, AuthorMetrics)
        evaluation = scorer.finish()
        scores[scorer.track] = list(evaluation.scores)
        aggregator.take(evaluation)
    return Evaluated(scores, {(m.method, m.metric, m.group): m for m in aggregator.metrics()})


def likelihood(nll: float, n_tokens: int) -> Likelihood:
    """Return an answer by its negative log-likelihood."""
    return Likelihood(-nll, n_tokens, n_tokens, n_tokens, False, 1)


def completion(*texts: str, turns: tuple[str, ...] = ()) -> Completion:
    """Return an answer in words; several texts are several samples."""
    return Completion(tuple(Output(text, Finish.END, 1, turns=turns) for text in texts), 1)
