"""Config datasets written into a folder: a dataset class, and a config with one entry."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.app.openicl_scoring import OpenIclScoring, build_author_imports
from assay.core.compilation import Compilation
from assay.core.ports import Embedder
from assay.core.response import Completion, Finish, LabelProbs, Likelihood, Outcome, Output, Response
from assay.core.task import AnsweredRequest, Evaluation, TaskSettings
from assay.dialects.openicl.arguments import parse_config_arguments
from assay.dialects.openicl.compile import build_author_code, compile_entry
from assay.dialects.openicl.detect import ConfigName
from assay.dialects.openicl.entries import load_entries
from assay.dialects.openicl.entry_validation import EntryContext, OpenIclTools
from assay.dialects.openicl.task import ConfigTask
from assay.scoring.scorers.registry import make_scorer

ROWS = [
    {"question": "2 + 2?", "A": "3", "B": "4", "answer": "B"},
    {"question": "3 + 3?", "A": "6", "B": "7", "answer": "A"},
    {"question": "4 + 4?", "A": "9", "B": "8", "answer": "B"},
]
"""Questions with two options."""

CLASS = """
import json
from pathlib import Path

from datasets import Dataset, DatasetDict

from .base import BaseDataset


class QuizDataset(BaseDataset):
    @staticmethod
    def load(path, name=None):
        rows = json.loads(Path(path).read_text(encoding="utf-8"))
        if isinstance(rows, dict):
            return DatasetDict({split: Dataset.from_list(some) for split, some in rows.items()})
        return Dataset.from_list(rows)
"""

IMPORTS = """
from ais_bench.benchmark.datasets import *NAMES*
from ais_bench.benchmark.openicl.icl_evaluator import AccEvaluator
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer, PPLInferencer
from ais_bench.benchmark.openicl.icl_prompt_template import PromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import FixKRetriever, ZeroRetriever
"""

GEN = {
    "prompt_template": "dict(type=PromptTemplate, template='Q: {question}\\nA: {answer}')",
    "retriever": "dict(type=ZeroRetriever)",
    "inferencer": "dict(type=GenInferencer)",
}
PPL = {
    "prompt_template": (
        "dict(type=PromptTemplate, template={x: 'Q: {question}\\nA: {' + x + '}' for x in 'AB'})"
    ),
    "retriever": "dict(type=ZeroRetriever)",
    "inferencer": "dict(type=PPLInferencer)",
}


def write_quiz(
    folder: Path,
    infer: Mapping[str, str] = GEN,
    evaluation: Mapping[str, str] | None = None,
    *,
    rows: Any = ROWS,
    code: str = "",
    names: Sequence[str] = ("QuizDataset",),
    reader: str = "dict(input_columns=['question', 'A', 'B'], output_column='answer')",
    more: str = "",
    before: str = "",
) -> Path:
    """Write `quiz.json`, `quiz.py` with the class and `code`, and the config `quiz_gen.py`; return that."""
    (folder / "quiz.json").write_text(json.dumps(rows), encoding="utf-8")
    (folder / "quiz.py").write_text(CLASS + code, encoding="utf-8")
    scoring = {"evaluator": "dict(type=AccEvaluator)"} if evaluation is None else evaluation
    parts = ", ".join(f"{key}={value}" for key, value in infer.items())
    scored = ", ".join(f"{key}={value}" for key, value in scoring.items())
    eval_cfg = f", eval_cfg=dict({scored})" if scored else ""
    config = folder / "quiz_gen.py"
    config.write_text(
        f"{IMPORTS.replace('*NAMES*', ', '.join(names))}{before}\n"
        "quiz_datasets = [dict(type=QuizDataset, abbr='quiz', path='quiz.json', "
        f"reader_cfg={reader}, infer_cfg=dict({parts}){eval_cfg}{more})]\n",
        encoding="utf-8",
    )
    return config


PLAIN = TaskSettings()


def no_encoder(folder: str | None) -> Embedder:
    raise AssertionError("no encoder was asked for")


def compile_config(
    name: Path | str,
    settings: TaskSettings = PLAIN,
    open_embedder: Callable[[str | None], Embedder] = no_encoder,
    data_root: Path | None = None,
) -> list[Compilation[ConfigTask]]:
    """Compile the entries of a config."""
    arguments = parse_config_arguments(settings.dataset_args, ConfigName.of(str(name)).path)
    found = load_entries(str(name), arguments.root)
    tools = OpenIclTools(build_author_imports(), OpenIclScoring(), open_embedder, data_root)
    asked = EntryContext(settings, arguments, tools, build_author_code(found, arguments, tools))
    return [compile_entry(one, str(name), asked) for one in found]


def quiz(folder: Path, *args: Any, settings: TaskSettings = PLAIN, **more: Any) -> Compilation[ConfigTask]:
    """Write a config with one entry and compile it."""
    (one,) = compile_config(write_quiz(folder, *args, **more), settings)
    return one


def written(*texts: str) -> Completion:
    """Return what a model wrote, once or several times."""
    return Completion(tuple(Output(text, Finish.END, 1) for text in texts), 1)


def likely(total: float, n_tokens: int = 1) -> Likelihood:
    """Return how likely a text is."""
    return Likelihood(total, n_tokens, 1, 1, None, 1)


def shared(*probs: float) -> LabelProbs:
    """Return how the next token is shared between labels."""
    return LabelProbs(probs, sum(probs), 1)


def evaluated(one: Compilation[ConfigTask], answers: Sequence[Sequence[Outcome]]) -> Evaluation:
    """Score outcomes, given for each row those of its requests in order."""
    (spec,) = one.task.scorers()
    scorer: Any = make_scorer(spec)
    scores = []
    for sample, outcomes in zip(one.task.samples(), answers, strict=True):
        requests = one.task.requests(sample)
        answered = [
            AnsweredRequest(request, Response(request.id, request.key, outcome))
            for request, outcome in zip(requests, outcomes, strict=True)
        ]
        if hasattr(scorer, "add"):
            scorer.add(sample, answered)
        else:
            scores.append(scorer.score(sample, answered))
    finished: Evaluation = scorer.finish() if hasattr(scorer, "add") else Evaluation(scores)
    return finished
