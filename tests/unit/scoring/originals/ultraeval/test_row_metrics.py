from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import PlanError
from assay.core.origin import Origin
from assay.core.request import Generate, Sampling, make_request
from assay.core.response import Completion, Failure, Finish, Outcome, Output, Response
from assay.core.sample import Sample
from assay.core.score import Score, Verdict
from assay.core.task import AnsweredRequest, ComponentSpec, Evaluation, RunningScorer, Scorer
from assay.scoring.aggregate import MeanAggregator
from assay.scoring.metrics import corpus_counts
from assay.scoring.originals.ultraeval.row_corpus import RowCorpus
from assay.scoring.scorers.corpus_values import RunningCorpus
from assay.scoring.scorers.registry import make_scorer
from fakes.judges import ScriptedJudge

EXACT = {"accuracy": {"type": "exact_match"}}
LETTERS: dict[str, Any] = {"type": "first_option_postprocess", "options": "ABC"}


def sample(*targets: str, id: str = "s1", group: str | None = None, **fields: Any) -> Sample:
    choices = tuple(fields.get("target_scores", ()))
    return Sample(
        id,
        fields,
        Origin("data.jsonl"),
        choices=choices,
        labels=tuple("ABCDE"[: len(choices)]),
        gold=tuple(at for at, worth in enumerate(fields.get("target_scores", {}).values()) if worth),
        targets=targets,
        group=group,
    )


def outcome(one: Sample, of: Outcome, index: int = 0) -> AnsweredRequest:
    requests = make_request("task", one.id, "gen", "answer", index, Generate("prompt", Sampling()))
    return AnsweredRequest(requests, Response(requests.id, requests.key, of))


def wrote(one: Sample, *texts: str, finish: Finish = Finish.END) -> list[AnsweredRequest]:
    return [outcome(one, Completion(tuple(Output(text, finish, 3) for text in texts), 2))]


def scorer(metrics: Mapping[str, Any], postprocess: str | dict[str, Any] = "", faithful: bool = False) -> Any:
    args = {"metrics": metrics, "postprocess": postprocess, "faithful": faithful}
    return make_scorer(ComponentSpec("row_metrics", args))


def score(
    metrics: Mapping[str, Any],
    one: Sample,
    *texts: str,
    postprocess: str | dict[str, Any] = "",
    faithful: bool = False,
) -> Score:
    found: Score = scorer(metrics, postprocess, faithful).score(one, wrote(one, *texts))
    return found


def value(
    type_: str, one: Sample, *texts: str, postprocess: str = "", faithful: bool = False
) -> float | None:
    metrics = {"accuracy": {"type": type_}}
    return score(metrics, one, *texts, postprocess=postprocess, faithful=faithful).value


OPTIONS: dict[str, Any] = {"question": "Which? ", "target_scores": {"a red cat": 0, "a dog": 1, "rain": 0}}


@pytest.mark.parametrize(
    ("type_", "targets", "text", "worth"),
    [
        ("prefix_match", ["(B)"], " (B) a dog", 1),
        ("prefix_match", ["(B)"], "It is (B)", 0),
        ("exact_match", ["new york"], "newyork", 1),
        ("exact_match", ["rome", "new york"], "new york", 1),
        ("exact_match", ["Rome"], "rome", 0),
        ("in_match", ["yes"], " YES ", 1),
        ("in_match", ["Yes"], "yes", 1),
        ("in_match", ["yes"], "yes sir", 0),
        ("f1_score", ["the red cat", "a dog"], "red cat cat", 2 / 3),
        ("f1_score", ["x"], "y", 0),
        ("qa_match", ["(B)"], "B. a dog", 1),
        ("qa_match", ["(B)"], "I say (B).", 1),
        ("qa_match", ["(B)"], "I say (A) not (B)", 0),
        ("qa_match", ["(B)"], "D", 0),
        ("qa_match", ["(B)"], "C) a cat", 0),
        ("qa_match", ["(B)"], "Which? a dog, surely", 1),
        ("qa_match", ["(B)"], "rain", 0),
        ("gaokaobench_match", ["ABC"], "ABD", 2 / 3),
        ("gaokaobench_match", ["A", "B", "C", "D"], "AB", 1 / 2),
        ("gaokaobench_match", ["A", "B"], "AB[SEP]XAB", 1),
        ("gaokaobench_match", ["A", "B"], "A[SEP]ABCD", 1),
    ],
)
def test_metrics_that_both_modes_agree_on(type_: str, targets: list[str], text: str, worth: float) -> None:
    one = sample(*targets, **OPTIONS)
    assert value(type_, one, text) == pytest.approx(worth)
    if targets != ["Yes"]:
        assert value(type_, one, text, faithful=True) == pytest.approx(worth)


def test_a_post_processor_may_have_arguments() -> None:
    found = score(EXACT, sample("B"), "Apples are red. The answer is B", postprocess=LETTERS)
    assert (found.value, found.answer, found.rule) == (1, "B", "first_option_postprocess")
    assert score(EXACT, sample("D"), "D", postprocess=LETTERS).verdict is Verdict.UNANSWERED
    faithful = score(EXACT, sample("A"), "Apple", postprocess=LETTERS, faithful=True)
    assert (faithful.value, faithful.answer) == (1, "A")


def test_a_function_has_the_rule_of_its_registered_name() -> None:
    found = score(EXACT, sample("B"), "so: B", postprocess="first_capital_postprocess")
    assert (found.value, found.rule) == (1, "first-capital")


def test_a_post_processor_may_be_shown_the_reasoning() -> None:
    text = "<think>hm</think> it"
    kept = score(EXACT, sample(text), text, postprocess={"type": "keep-reasoning-content"})
    assert kept.answer == text
    tokens = {"think_start_token": "## Thinking", "think_end_token": "## Final Response"}
    message = score(
        EXACT,
        sample("it"),
        "## Thinking hm ## Final Response it",
        postprocess={"type": "extract_non_reasoning_content", **tokens},
    )
    assert message.answer == "it"


@pytest.mark.parametrize(
    ("type_", "postprocess", "targets", "text", "original", "here"),
    [
        ("in_match", "", ["Yes"], "yes", 0, 1),
        ("qa_match", "", ["(B)"], "B) a cat", 0, 1),
        ("qa_match", "", ["(B)"], "**B**: a cat", 0, 1),
        # Several letters are right together: the original is content with one of them.
        ("exact_match", "agieval_multiple_answer_post", ["A", "C"], "A and C", 0, 1),
        ("exact_match", "agieval_multiple_answer_post", ["A", "C"], "A", 1, 0),
        ("exact_match", "agieval_multiple_answer_post", ["AC"], "C, A", 0, 1),
        ("gaokaobench_match", "gaokao_multi_choice_post", ["BD"], "BD", 0, 1),
        ("gaokaobench_match", "gaokao_multi_choice_post", ["BD"], "B", 0, 0.5),
        ("gaokaobench_match", "gaokao_multi_choice_post", ["BD"], "AB", 0, 0),
        ("exact_match", "bbh_post", ["(B)"], "The answer is (B).", 0, 1),
    ],
)
def test_metrics_that_are_corrected(
    type_: str, postprocess: str, targets: list[str], text: str, original: float, here: float
) -> None:
    one = sample(*targets, **OPTIONS)
    assert value(type_, one, text, postprocess=postprocess, faithful=True) == original
    assert value(type_, one, text, postprocess=postprocess) == here


def test_a_score_says_what_was_found_and_how() -> None:
    one = sample("18", group="easy")
    found = score(
        {"em": {"type": "Exact_Match"}, "f1": {"type": "f1_score"}},
        one,
        "So it is #### 18",
        postprocess="gsm8k_post",
    )
    assert (found.metric, found.value, found.also) == ("em", 1.0, {"f1": 1.0})
    assert (found.answer, found.target, found.rule, found.span) == ("18", "18", "gsm8k_post", (14, 16))
    assert (found.task, found.group, found.verdict) == ("task", "easy", Verdict.SCORED)


def test_plain_tasks_score_as_answers_come() -> None:
    assert isinstance(scorer(EXACT), Scorer)
    assert isinstance(scorer({"b": {"type": "bleu"}}), Scorer)
    assert not isinstance(scorer({"b": {"type": "bleu"}, "p": {"type": "function_execution"}}), Scorer)


def test_the_table_lists_everything_that_a_config_names() -> None:
    metrics = {**EXACT, "f1": {"type": "f1_score"}}
    made = scorer(metrics)
    aggregator = MeanAggregator()
    aggregator.add(made.score(sample("18"), wrote(sample("18"), "18")))
    aggregator.take(made.finish())
    found = {one.metric: (one.is_headline, one.is_listed) for one in aggregator.metrics()}
    assert found == {"accuracy": (True, True), "f1": (False, True)}


def test_no_answer_is_unanswered_and_faithful_scores_the_empty_text() -> None:
    metrics = {**EXACT, "f1": {"type": "f1_score"}}
    found = score(metrics, sample("18"), "I cannot say", postprocess="gsm8k_post")
    assert (found.verdict, found.value, found.answer) == (Verdict.UNANSWERED, None, None)
    assert found.also == {"f1": 0.0}
    # AGIEval's cloze answers were None, on which the original's run ended.
    asked = score(EXACT, sample("18"), "who knows", postprocess="agieval_cloze_post", faithful=True)
    assert (asked.verdict, asked.value) == (Verdict.SCORED, 0.0)


def test_reasoning_is_no_answer_unless_faithful() -> None:
    text = "<think>Perhaps (A)</think>(B)"
    prefix = {"accuracy": {"type": "prefix_match"}}
    assert score(prefix, sample("(B)"), text).value == 1.0
    assert score(prefix, sample("(B)"), text, faithful=True).value == 0.0
    assert score(prefix, sample("(B)"), "<think>(B) or").verdict is Verdict.UNANSWERED


def test_several_outputs_count_by_their_mean_and_faithful_by_the_first() -> None:
    found = score(EXACT, sample("a"), "b", "a", "a", "a")
    assert (found.value, found.answer) == (0.75, "b")
    assert score(EXACT, sample("a"), "b", "a", faithful=True).value == 0.0
    # An output without an answer counts as 0.
    assert score(EXACT, sample("1"), "#### 1", "no idea", postprocess="gsm8k_post").value == 0.5


def test_outputs_of_several_requests_are_taken_in_order() -> None:
    one = sample("a")
    answers = [*wrote(one, "a"), outcome(one, Completion((Output("b", Finish.LENGTH, 3),), 2), index=1)]
    found = scorer(EXACT).score(one, answers)
    assert (found.value, found.answer, found.is_truncated) == (0.5, "a", True)


def test_a_failed_request_fails_and_a_row_without_an_answer_is_not_graded() -> None:
    one = sample("a")
    found = scorer(EXACT).score(one, [outcome(one, Failure("timeout", "no reply"))])
    assert (found.verdict, found.why, found.metric) == (Verdict.FAILED, "timeout: no reply", "accuracy")
    prefix = {"accuracy": {"type": "prefix_match"}}
    assert score(prefix, sample(""), "anything").verdict is Verdict.UNGRADED
    assert score(prefix, sample(""), "anything", faithful=True).value == 1.0
    assert score(prefix, sample(), "anything", faithful=True).verdict is Verdict.UNGRADED


def test_a_row_that_a_metric_cannot_judge_fails_alone() -> None:
    found = score({"accuracy": {"type": "qa_match"}}, sample("(A)", target_scores={"x": 1}), "z")
    assert found.verdict is Verdict.FAILED
    assert "the metric qa_match cannot judge the row: it has no 'question'" in (found.why or "")


def rows(metrics: Mapping[str, Any], *pairs: tuple[Sample, tuple[str, ...]], **more: Any) -> Evaluation:
    made = scorer(metrics, **more)
    if isinstance(made, RowCorpus):
        for one, texts in pairs:
            made.add(one, wrote(one, *texts))
        return made.finish()
    assert isinstance(made, RunningScorer)
    scores = [made.score(one, wrote(one, *texts)) for one, texts in pairs]
    return made.finish()._replace(scores=scores)


def test_bleu_and_chrf_have_a_mean_and_a_value_of_the_corpus() -> None:
    import sacrebleu

    texts = ["the cat sat on the mat today", "a dog ran", "it rains"]
    golds = ["the cat sat on the mat", "a dog ran away from home", "it rains a lot"]
    pairs = [
        (sample(gold, id=str(at), group="AB"[at % 2]), (text,))
        for at, (text, gold) in enumerate(zip(texts, golds, strict=True))
    ]
    metrics = {"bleu-4": {"type": "bleu", "tokenizer": "char"}, "chrf": {"type": "chrf"}}
    found = rows(metrics, *pairs)
    for got, text, gold in zip(found.scores, texts, golds, strict=True):
        assert got.metric == "bleu-4"
        assert got.value == pytest.approx(
            sacrebleu.corpus_bleu([text], [[gold]], tokenize="char").score / 100
        )
        assert got.also["chrf"] == pytest.approx(sacrebleu.corpus_chrf([text], [[gold]]).score / 100)
    values = {(one.metric, one.group): one for one in found.metrics}
    whole = values["corpus_bleu", None]
    assert whole.value == pytest.approx(sacrebleu.corpus_bleu(texts, [golds], tokenize="char").score / 100)
    assert whole.low is not None
    assert whole.high is not None
    assert whole.low <= whole.high
    chrf = sacrebleu.corpus_chrf(texts, [golds]).score / 100
    assert values["corpus_chrf", None].value == pytest.approx(chrf)
    one_row = sacrebleu.corpus_bleu(texts[1:2], [golds[1:2]], tokenize="char").score / 100
    assert values["corpus_bleu", "B"].value == pytest.approx(one_row)
    aggregator = MeanAggregator()
    aggregator.take(found)
    by_name = {one.metric: one for one in aggregator.metrics() if one.group is None}
    assert by_name["bleu-4"].value == pytest.approx(sum(one.value or 0 for one in found.scores) / 3)
    assert by_name["corpus_bleu"].value == whole.value


def test_a_missing_translation_is_an_empty_one_in_the_corpus() -> None:
    found = rows(
        {"bleu": {"type": "bleu"}},
        (sample("the cat sat on it", id="1"), ("the cat sat on it",)),
        (sample("a dog ran away", id="2"), (" ",)),
        postprocess="until_return_post",
    )
    assert [one.verdict for one in found.scores] == [Verdict.SCORED, Verdict.UNANSWERED]
    whole = found.metrics[0]
    assert whole.n_unanswered == 1
    assert 0 < (whole.value or 0) < 1


@pytest.mark.parametrize("kept", [10_000, 20], ids=["kept", "let go"])
def test_a_corpus_and_its_groups_do_not_depend_on_whether_rows_are_kept(
    kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sacrebleu

    monkeypatch.setattr(corpus_counts, "MAX_DRAWN", kept)
    draw = random.Random(5)
    texts, golds = ([" ".join(draw.choices("abcd", k=9)) for _ in range(90)] for _ in range(2))
    # The last group has a single row, behind the place at which rows are let go.
    groups = [draw.choice("xy") for _ in range(89)] + ["z"]
    every = zip(texts, golds, groups, strict=True)
    found = rows(
        {"bleu": {"type": "bleu"}},
        *((sample(gold, id=str(at), group=group), (text,)) for at, (text, gold, group) in enumerate(every)),
    )
    values = {one.group: one for one in found.metrics if one.metric == "corpus_bleu"}
    assert list(values) == [None, *dict.fromkeys(groups)]
    for group, one in values.items():
        chosen = [at for at in range(90) if group in (None, groups[at])]
        of_group = sacrebleu.corpus_bleu([texts[at] for at in chosen], [[golds[at] for at in chosen]])
        assert one.value == pytest.approx(of_group.score / 100, abs=1e-12)
        assert (one.n, one.n_scored) == (len(chosen), len(chosen))
        assert (one.low is None) == (len(chosen) == 1)


def test_two_metrics_of_one_kind_have_corpus_values_of_their_own() -> None:
    metrics = {"c": {"type": "bleu", "tokenizer": "char"}, "w": {"type": "bleu"}}
    found = rows(metrics, (sample("a cat", id="1"), ("a cat",)), (sample("b", id="2"), ("b",)))
    assert [one.metric for one in found.metrics] == ["corpus_bleu_c", "corpus_bleu_w"]


def by_hand(got: set[tuple[str, ...]], wanted: set[tuple[str, ...]]) -> float:
    shared = len(got & wanted)
    return 2 * shared / (len(got) + len(wanted)) if shared else 0.0


def test_rouge_counts_sets_of_words() -> None:
    one = sample("the cat the cat sat", "unlike")
    # {the, cat} of {the, cat, sat}: 2 of 2 and 2 of 3.
    assert value("rouge", one, "the the cat") == pytest.approx(0.8)
    metrics = {"r": {"type": "rouge", "n_gram": "l", "index": "recall"}}
    assert score(metrics, one, "cat the").value == pytest.approx(2 / 5)
    assert value("rouge", sample("x", "the cat"), "the cat", faithful=True) == 0.0
    assert value("rouge", sample("x", "the cat"), "the cat") == pytest.approx(1.0)


WORDS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=8)


@given(WORDS, WORDS)
def test_rouge_against_plain_sets(got: list[str], wanted: list[str]) -> None:
    expected = by_hand({(word,) for word in got}, {(word,) for word in wanted})
    assert value("rouge", sample(" ".join(wanted)), " ".join(got)) == pytest.approx(expected, abs=1e-6)


PROMPT = "def double(x):\n"
TEST = "def check(f):\n    assert f(2) == 4\n"
HUMANEVAL: dict[str, Any] = {"task_id": "t/1", "prompt": PROMPT, "entry_point": "double", "test": TEST}
MBPP: dict[str, Any] = {
    "text": 'Say """twice".',
    "code": "",
    "task_id": 1,
    "test_setup_code": "y = 2",
    "test_list": ["assert double(y) == 4"],
    "challenge_test_list": [],
}
PASS_K = {"pass_k": {"type": "function_execution", "aggregation": "pass_k"}}


def test_programs_pass_or_not_and_pass_at_k_takes_the_place_of_the_name() -> None:
    right, wrong = "    return 2 * x\n", "    return x\n"
    found = rows(
        PASS_K,
        (sample("", id="1", **HUMANEVAL), (right, wrong)),
        (sample("", id="2", **HUMANEVAL), (wrong, wrong)),
        (sample("", id="3", **HUMANEVAL), (right,)),
        postprocess="humaneval_post",
    )
    assert [(one.metric, one.value, one.also) for one in found.scores] == [
        ("pass@1", 0.5, {"pass@2": 1.0}),
        ("pass@1", 0.0, {"pass@2": 0.0}),
        ("pass@1", 1.0, {}),
    ]
    assert any("programs ran in a" in note for note in found.notes)
    assert [one.passed for one in found.scores] == [(True, False), (False, False), (True,)]


@pytest.mark.parametrize(
    "call",
    [
        "import os; os.getcwd()",
        "import os; os.environ['A'] = 'b'",
        "import subprocess; subprocess.run(['true'])",
        "import shutil; shutil.rmtree('nowhere', ignore_errors=True)",
        "import resource",
        "import tempfile; tempfile.TemporaryDirectory().cleanup()",
        "import sys; sys.stdout.buffer",
    ],
)
def test_faithful_takes_from_programs_what_the_original_takes(call: str) -> None:
    pair = (sample("", **HUMANEVAL), (f"    {call}\n    return 2 * x\n", "    print(x)\n    return 2 * x\n"))
    assert rows(PASS_K, pair).scores[0].passed == (True, True)
    assert rows(PASS_K, pair, faithful=True).scores[0].passed == (False, True)


def test_mbpp_runs_the_set_up_and_faithful_does_not() -> None:
    pair = (sample("", **MBPP), ("def double(x):\n    return 2 * x",))
    mean = {"passed": {"type": "function_execution"}}
    assert rows(mean, pair).scores[0].value == 1.0
    assert rows(mean, pair, faithful=True).scores[0].value == 0.0
    calm = sample("", **{**MBPP, "text": "Say twice.", "test_list": ["assert double(2) == 4"]})
    assert rows(mean, (calm, pair[1]), faithful=True).scores[0].value == 1.0


def test_a_row_without_tests_fails_and_one_without_a_program_is_unanswered() -> None:
    found = rows(
        PASS_K,
        (sample("", id="1", prompt="x"), ("y",)),
        (sample("", id="2", **HUMANEVAL), ("",)),
        postprocess="humaneval_post",
    )
    assert [one.verdict for one in found.scores] == [Verdict.FAILED, Verdict.UNANSWERED]
    assert "the row has no test, entry_point" in (found.scores[0].why or "")
    assert found.scores[1].metric == "pass@1"


def test_a_judge_says_whether_answers_agree() -> None:
    replies = {"one": "Yes.", "two": "no", "three": "yes, in substance", "four": "hard to say"}

    def script(text: str) -> str | Failure:
        answer = text.split("Answer: ")[1].split("\n")[0]
        return replies.get(answer, Failure("timeout", "gone"))

    pairs = [(sample("gold", id=text), (text,)) for text in (*replies, "five")]
    for faithful, expected in ((False, [1.0, 0.0, 1.0, None, None]), (True, [1.0, 0.0, 0.0, 0.0, None])):
        made = scorer({"agrees": {"type": "gpt4_eval"}}, faithful=faithful)
        assert made.needs_judge
        judge = ScriptedJudge(script)
        made.bind(judge)
        for one, texts in pairs:
            made.add(one, wrote(one, *texts))
        scores = made.finish().scores
        assert [one.value for one in scores] == expected
        assert scores[-1].verdict is Verdict.FAILED
        assert judge.n_calls == 1
        assert [[reply.text for reply in one.judged] for one in scores] == [
            *([text] for text in replies.values()),
            [""],
        ]
        assert [one.judged[0].prompt for one in scores] == judge.seen
        assert scores[-1].judged[0].why == "timeout: gone"


def test_a_judge_is_not_shown_outputs_without_an_answer() -> None:
    made = scorer({"agrees": {"type": "gpt4_eval"}}, postprocess="gsm8k_post")
    judge = ScriptedJudge(lambda _: "yes")
    made.bind(judge)
    one, silent = sample("18", id="1"), sample("18", id="2")
    made.add(one, wrote(one, "#### 18", "well"))
    made.add(silent, wrote(silent, "well"))
    scores = made.finish().scores
    assert [(one.value, one.verdict) for one in scores] == [
        (0.5, Verdict.SCORED),
        (None, Verdict.UNANSWERED),
    ]
    assert len(judge.seen) == 1


def test_without_a_judge_it_is_an_error() -> None:
    with pytest.raises(PlanError, match="JUDGE-001"):
        rows({"agrees": {"type": "gpt4_eval"}}, (sample("a"), ("a",)))


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({"metrics": {"a": {"type": "exact_mach"}}}, "(did you mean 'exact_match'?); expected one of"),
        ({"metrics": {"a": {}}}, "'a' has no type"),
        ({"metrics": {}}, "no metric is configured"),
        ({"metrics": EXACT, "postprocess": "gsm8"}, "unknown post-processor 'gsm8'"),
        ({"metrics": EXACT, "postprocess": LETTERS | {"cushon": False}}, "did you mean 'cushion'?"),
        ({"metrics": EXACT, "postprocess": {"options": "AB"}}, 'has no "type"'),
        ({"metrics": EXACT, "postproces": ""}, "did you mean 'postprocess'?"),
        ({"metrics": {"a": {"type": "bleu", "tokeniser": "13a"}}}, "(did you mean 'tokenizer'?)"),
        ({"metrics": {"a": {"type": "bleu", "tokenizer": "13b"}}}, "unknown tokenizer '13b'"),
        ({"metrics": {"a": {"type": "chrf", "order": 1}}}, "no option 'order'; expected none"),
        ({"metrics": {"a": {"type": "rouge", "n_gram": "3"}}}, "n_gram='3'"),
        ({"metrics": {"a": {"type": "rouge", "index": "x"}}}, "index='x'"),
        ({"metrics": {"a": {"type": "f1_score", "aggregation": "max"}}}, "unknown aggregation 'max'"),
        ({"metrics": {"a": {"type": "f1_score", "aggregation": "pass_k"}}}, "pass_k counts programs"),
    ],
)
def test_unknown_names_are_plan_errors(args: dict[str, Any], says: str) -> None:
    with pytest.raises(PlanError) as caught:
        make_scorer(ComponentSpec("row_metrics", args))
    assert caught.value.problems[0].code == "SCORE-002"
    assert says in caught.value.problems[0].what


def test_a_corpus_value_that_raises_leaves_the_values_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise TypeError("cannot add float and float32")

    monkeypatch.setattr(RunningCorpus, "_metric", broken)
    made = scorer({"chrf": {"type": "chrf"}})
    assert isinstance(made, RunningScorer)
    aggregator = MeanAggregator()
    aggregator.add(made.score(sample("a cat"), wrote(sample("a cat"), "a cat")))
    aggregator.take(made.finish())
    found = {one.metric: one for one in aggregator.metrics()}
    assert found["chrf"].value == pytest.approx(1.0)
    assert found["chrf"].is_headline
    assert found["corpus_chrf"].value is None
    assert "corpus_chrf raised TypeError: cannot add float and float32 (" in (found["corpus_chrf"].why or "")
