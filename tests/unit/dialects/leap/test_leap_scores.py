"""An author's scoring: values of documents, means with intervals, and metrics over all documents."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.core.request import Request
from assay.core.response import Finish, Outcome
from assay.core.score import Verdict
from fakes.leap_tasks import (
    FREE,
    HEAD,
    Evaluated,
    compile_one,
    evaluated,
    likely,
    questions,
    scored,
    written,
)


def scored_by(results: str, aggregation: str, better: str = "{}", more: str = "") -> str:
    """Return a class of free answers whose answer is `text`, scored like this."""
    return (
        f"import numpy as np\n{HEAD}\nclass Own(Base):\n"
        f'    def construct_requests(self, doc, ctx):\n        return rf.greedy_until(ctx, ["."])\n'
        f"    def process_results(self, doc, results):\n        text = results[0]\n        return {results}\n"
        f"    def aggregation(self):\n        return {aggregation}\n"
        f"    def higher_is_better(self):\n        return {better}\n{more}"
    )


def run(folder: Path, text: str, answers: list[str], **settings: Any) -> Evaluated:
    one = compile_one(folder, text, {"validation": questions(len(answers))}, **settings)
    message = {sample.id: answers[(sample.origin.row or 1) - 1] for sample in one.task.samples()}
    return evaluated(one, lambda request: written(message[request.sample_id]))


def test_a_mean_keeps_its_interval_and_is_a_share(tmp_path: Path) -> None:
    text = scored_by('{"acc": np.bool_(text == doc["a"])}', '{"acc": mean}', '{"acc": True}')
    found = run(tmp_path, text, ["yes", "yes", "yes", "no"])
    metric = found.metrics["acc"]
    assert (metric.value, metric.n_scored, metric.is_share, metric.is_headline) == (0.75, 4, True, True)
    assert metric.low is not None
    assert metric.high is not None
    assert metric.low < 0.75 < metric.high
    assert [score.value for score in found.scores] == [1.0, 0.0, 1.0, 1.0]
    assert [score.answer for score in found.scores] == ["yes", "yes", "yes", "no"]
    assert {score.rule for score in found.scores} == {"process_results"}


def test_a_number_over_all_documents_is_what_the_function_returned(tmp_path: Path) -> None:
    pair = '(int(doc["a"] == "yes"), np.int64(text == "yes"))'
    text = scored_by(f'{{"f1": {pair}, "acc": text == doc["a"]}}', '{"acc": mean, "f1": f1_score}')
    found = run(tmp_path, text, ["yes", "yes", "no", "no", "yes"])
    # Right: 0, 3, 4; said yes: 0, 1, 4; is yes: 0, 2, 4.
    assert found.metrics["f1"].value == pytest.approx(2 * 2 / (3 + 3))
    assert found.metrics["f1"].is_share
    assert found.metrics["acc"].value == pytest.approx(3 / 5)
    assert found.metrics["f1"].low is not None


def test_a_scale_of_its_own_and_less_is_more(tmp_path: Path) -> None:
    text = scored_by('{"length": float(len(text))}', '{"length": mean}', '{"length": False}')
    metric = run(tmp_path, text, ["abc", "abcdef"]).metrics["length"]
    assert (metric.value, metric.is_share, metric.higher_is_better) == (4.5, False, False)


def test_several_numbers_of_one_function_are_metrics_by_name(tmp_path: Path) -> None:
    function = 'lambda values: {"shortest": min(values), "longest": max(values)}'
    text = scored_by('{"length": len(text)}', f'{{"length": {function}}}')
    found = run(tmp_path, text, ["a", "abc", "ab"])
    assert {name: metric.value for name, metric in found.metrics.items()} == {
        "length.shortest": 1.0,
        "length.longest": 3.0,
    }


def test_a_perplexity_is_a_ratio_of_sums(tmp_path: Path) -> None:
    text = scored_by('{"ppl": (-float(len(text)), 2)}', '{"ppl": weighted_perplexity}', '{"ppl": False}')
    found = run(tmp_path, text, ["a", "abc", "ab"])
    metric = found.metrics["ppl"]
    assert metric.value == pytest.approx(math.exp(6 / 6))
    assert not metric.is_share
    assert [score.value for score in found.scores] == pytest.approx(
        [math.exp(0.5), math.exp(1.5), math.exp(1.0)]
    )
    assert metric.low is not None


def test_the_faithful_way_rounds_to_4_decimals(tmp_path: Path) -> None:
    text = scored_by('{"acc": text == doc["a"]}', '{"acc": mean}')
    answers = ["yes", "yes", "no"]
    assert run(tmp_path, text, answers).metrics["acc"].value == 1 / 3
    metric = run(tmp_path, text, answers, is_faithful=True).metrics["acc"]
    assert metric.value == 0.3333
    assert metric.low is not None


def test_a_metric_that_only_some_documents_have(tmp_path: Path) -> None:
    results = '{"acc": 1.0, "long": 1.0} if len(text) > 2 else {"acc": 0.0}'
    found = run(tmp_path, scored_by(results, '{"acc": mean, "long": mean}'), ["yes", "no", "yes"])
    assert found.metrics["acc"].value == pytest.approx(2 / 3)
    assert found.metrics["long"].value == 1.0


def test_what_process_results_raises_fails_that_document(tmp_path: Path) -> None:
    found = run(tmp_path, scored_by('{"acc": 1 / (len(text) - 2)}', '{"acc": mean}'), ["yes", "no", "abcd"])
    assert [score.verdict for score in found.scores] == [Verdict.SCORED, Verdict.FAILED, Verdict.SCORED]
    assert "raised ZeroDivisionError" in (found.scores[1].why or "")
    assert "Is 1 even?" in (found.scores[1].why or "")
    assert found.metrics["acc"].value == pytest.approx((1 + 0.5) / 2)
    not_dict = run(
        tmp_path, scored_by('{"acc": 1.0} if text == "text" else None', '{"acc": mean}'), ["a", "text"]
    )
    assert [score.verdict for score in not_dict.scores] == [Verdict.FAILED, Verdict.SCORED]
    no_number = run(
        tmp_path, scored_by('{"acc": float("nan") if text == "a" else 1.0}', '{"acc": mean}'), ["a", "b"]
    )
    assert [score.verdict for score in no_number.scores] == [Verdict.FAILED, Verdict.SCORED]


def test_an_answer_that_was_cut_off_is_counted(tmp_path: Path) -> None:
    one = compile_one(tmp_path, FREE, {"validation": questions(2)})
    found = evaluated(one, lambda request: written("yes", Finish.LENGTH))
    assert found.metrics["acc"].n_truncated == 2


HEADLINE = "\nEVAL_DATASET_METRIC = {'mine': 'b'}\n"


def test_the_registrys_headline_decides(tmp_path: Path) -> None:
    text = scored_by('{"a": 0.0, "b": 1.0}', '{"a": mean, "b": mean}')
    assert {score.metric for score in run(tmp_path, text, ["x"]).scores} == {"a"}
    found = run(tmp_path, text + HEADLINE, ["x"])
    assert [(score.metric, score.value, score.also) for score in found.scores] == [("b", 1.0, {"a": 0.0})]
    assert next(iter(found.metrics)) == "b"
    one = compile_one(tmp_path, text + HEADLINE.replace("'b'", "'c'"), None)
    assert any("headline 'c'" in note for note in one.notes)


CLASSIC = """
from lm_eval.base import MultipleChoiceTask, PerplexityTask
from lm_eval.metrics import mean

class Choice(MultipleChoiceTask):
    VERSION = 1
    def download(self, data_dir=None, cache_dir=None, download_mode=None):
        self.docs = [
            {"query": "Capital of Italy?", "choices": ["Rome", "Paris by night"], "gold": 0},
            {"query": "Capital of France?", "choices": ["Rome", "Paris by night"], "gold": 1},
        ]
    def has_training_docs(self):
        return False
    def has_validation_docs(self):
        return True
    def has_test_docs(self):
        return False
    def validation_docs(self):
        return self.docs
    def doc_to_text(self, doc):
        return "Q: " + doc["query"] + "\\nA:"

class Texts(PerplexityTask):
    def download(self, data_dir=None, cache_dir=None, download_mode=None):
        pass
    def has_validation_docs(self):
        return False
    def has_test_docs(self):
        return True
    def test_docs(self):
        return ["one two three", "한국어 글"]
"""


def test_a_multiple_choice_of_the_classic_harness(tmp_path: Path) -> None:
    one = compile_one(tmp_path, CLASSIC, selection="::Choice")

    def answer(request: Request) -> Outcome:
        # The longer choice is likelier by character alone.
        return likely(-5.0 if request.index else -4.0)

    found = evaluated(one, answer)
    assert [{**score.also, "acc": score.value} for score in found.scores] == [
        {"acc": 1.0, "acc_norm": 0.0},
        {"acc": 0.0, "acc_norm": 1.0},
    ]
    assert [sample.gold for sample in one.task.samples()] == [(0,), (1,)]
    assert one.task.spec.settings["version"] == 1
    assert not any("request_type" in note for note in one.notes)
    with_shots = compile_one(tmp_path, CLASSIC, selection="::Choice", shots=1)
    (request, *_) = with_shots.task.requests(next(with_shots.task.samples()))
    assert request.ask.prompt == "Q: Capital of France?\nA: Paris by night\n\nQ: Capital of Italy?\nA: Rome"


def test_texts_of_the_classic_harness(tmp_path: Path) -> None:
    one = compile_one(tmp_path, CLASSIC, selection="::Texts")
    found = evaluated(one, lambda request: likely(-6.0))
    assert found.metrics["word_perplexity"].value == pytest.approx(math.exp(12 / 5))
    assert found.metrics["byte_perplexity"].value == pytest.approx(math.exp(12 / (13 + 13)))
    assert found.metrics["bits_per_byte"].value == pytest.approx(12 / 26 / math.log(2))
    assert not found.metrics["word_perplexity"].higher_is_better
    assert [sample.fields for sample in one.task.samples()] == [
        {"doc": "one two three"},
        {"doc": "한국어 글"},
    ]
    assert one.kind == "text"
    with_shots = compile_one(tmp_path, CLASSIC, selection="::Texts", shots=2)
    assert with_shots.task.spec.settings["shots"] == 0
    assert any("has no effect on whole texts" in note for note in with_shots.notes)


CHANGES = {
    "shuffled": (
        'random.shuffle(doc["all"])\n        return [rf.loglikelihood(ctx, one)[0] for one in doc["all"]]',
        'doc["all"][results.index(max(results))].strip() == doc["a"]',
    ),
    "taken out": (
        'return [rf.loglikelihood(ctx, one)[0] for one in doc.pop("all")]',
        '"all" not in doc and (" yes", " no")[results.index(max(results))].strip() == doc.pop("a")',
    ),
}


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("is_faithful", [False, True])
def test_what_the_code_changes_in_a_document_is_seen_by_its_scoring_alone(
    tmp_path: Path, how: str, is_faithful: bool
) -> None:
    """Requests are made more than once, and a document may be an example of others."""
    requests, is_right = CHANGES[how]
    text = (
        f"import random\n{HEAD}\nclass Own(Base):\n"
        '    def _process_doc(self, doc):\n        return {**doc, "all": [" yes", " no"]}\n'
        "    def load(self, data_dir=None, cache_dir=None):\n        super().load()\n"
        '        self.rows = [self._process_doc(row) for row in self.dataset["validation"]]\n'
        "    def validation_docs(self):\n        return self.rows\n"
        f"    def construct_requests(self, doc, ctx):\n        {requests}\n"
        f'    def process_results(self, doc, results):\n        return {{"acc": {is_right}}}\n'
    )
    one = compile_one(tmp_path, text, {"validation": questions(9)}, shots=2, is_faithful=is_faithful)
    for sample in one.task.samples():
        one.task.requests(sample, shots=1)
    truth = {sample.id: str(sample.fields["a"]) for sample in one.task.samples()}
    for _ in range(2):
        found = evaluated(
            one, lambda request: likely(0.0 if truth[request.sample_id] in scored(request.ask) else -9.0)
        )
        assert found.metrics["acc"].value == 1.0


def test_code_that_exits_fails_its_document_and_not_the_run(tmp_path: Path) -> None:
    exits = '(sys.exit(3) if text == "no" else 1.0)'
    found = run(tmp_path, "import sys\n" + scored_by(f'{{"acc": {exits}}}', '{"acc": mean}'), ["yes", "no"])
    assert [score.verdict for score in found.scores] == [Verdict.SCORED, Verdict.FAILED]
    assert "SystemExit: 3" in str(found.scores[1].why)


def test_code_that_exits_while_it_asks_is_reported_with_its_document(tmp_path: Path) -> None:
    text = FREE + "    def doc_to_text(self, doc):\n        raise SystemExit(3)\n"
    with pytest.raises(AuthorError, match=r"documents 1, 2: doc_to_text raised SystemExit: 3"):
        compile_one(tmp_path, text, {"validation": questions(2)})
