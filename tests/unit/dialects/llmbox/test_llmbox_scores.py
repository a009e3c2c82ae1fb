"""From answers to scores: the arguments of an author's code, and the original's formulas."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.core.errors import AuthorError
from assay.core.request import Generate, Labels, Request
from assay.core.response import Failure, LabelProbs, Outcome
from assay.core.score import Verdict
from fakes.classes import Evaluated, compile_one, completion, evaluated, free_class, likelihood

CHOICE = """
class Choice(MultipleChoiceDataset):
    instruction = "{{q}}{{'\\n' + options if options}}"
    normalization_prompt = "Q: A:"
    def format_instance(self, instance):
        return dict(q=instance["q"], options=list(instance["options"]), target_idx=instance["answer"])
    @property
    def references(self):
        return [row["answer"] for row in self.evaluation_data]
"""
KEEPS = """
    def post_processing(self, predictions):
        self.seen = list(predictions)
        return [0] * (len(self.evaluation_data) * self.sample_num)
"""
KEEPS_TEXTS = KEEPS.replace("[0]", '["0"]')
FREE = free_class()


def processing(returned: str) -> str:
    return f"{FREE}\n    def post_processing(self, predictions):\n        return {returned}\n"


def choice_rows(*sizes: int) -> list[dict[str, Any]]:
    return [
        {"q": f"q{n}", "options": [f"o{n}{i}" for i in range(size)], "answer": n % size}
        for n, size in enumerate(sizes)
    ]


def seen_by(one: Any, answer: Any, method: str) -> Any:
    evaluated(one, answer)
    return one.task._prepared[method].dataset.seen


def test_shapes_of_likelihoods(tmp_path: Path) -> None:
    """A pair (negative log-likelihood, tokens) for each option; with normalisation all once more, alone."""

    def answer(request: Request) -> Outcome:
        row = request.sample_id
        base = {"option": 1.0, "unconditional": 100.0}[request.role]
        return likelihood(base + order[row] * 10 + request.index, request.index + 1)

    for normalises in (False, True):
        text = CHOICE.replace(
            "normalization_prompt", f"use_normalization = {normalises}\n    normalization_prompt"
        )
        one = compile_one(tmp_path, text + KEEPS, choice_rows(2, 3))
        order = {sample.id: n for n, sample in enumerate(one.task.samples())}
        expected = [(1.0, 1), (2.0, 2), (11.0, 1), (12.0, 2), (13.0, 3)]
        if normalises:
            expected += [(nll + 99, n) for nll, n in expected]
        assert seen_by(one, answer, "ppl") == expected


def test_shapes_of_probabilities_and_texts(tmp_path: Path) -> None:
    one = compile_one(tmp_path, CHOICE + KEEPS, choice_rows(2, 3), settings={"methods": ("prob",)})
    probs = {2: (0.25, 0.5), 3: (0.1, 0.2, 0.3)}

    def shares(request: Request) -> Outcome:
        found = probs[len(request.ask.labels)]  # type: ignore[union-attr]
        return LabelProbs(found, sum(found), 1)

    assert seen_by(one, shares, "prob") == [[0.25, 0.5], [0.1, 0.2, 0.3]]
    # The original gives shares of its candidates, of which each letter has two.
    faithful = {"methods": ("prob",), "is_faithful": True}
    original = compile_one(tmp_path, CHOICE + KEEPS, choice_rows(2), settings=faithful)
    four = LabelProbs((0.1, 0.2, 0.1, 0.0), 0.4, 1)
    assert seen_by(original, lambda request: four, "prob") == [[0.25, 0.5, 0.25, 0.0]]
    many = compile_one(
        tmp_path, FREE + KEEPS_TEXTS, [{"q": "a", "a": "x"}, {"q": "b", "a": "y"}], settings={"samples": 3}
    )
    assert seen_by(
        many, lambda request: completion(*(f"{request.ask.prompt}{n}" for n in range(3))), "gen"
    ) == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_shapes_of_turns(tmp_path: Path) -> None:
    text = (FREE + KEEPS_TEXTS).replace("instruction = ", "multi_turn = True\n    instruction = ")
    text = text.replace('"{q}"', '"{{source[turn_idx]}}"').replace(
        'dict(q=instance["q"], ', 'dict(source=instance["q"], '
    )
    one = compile_one(tmp_path, text, [{"q": ["a", "b"], "a": "x"}, {"q": ["c", "d", "e"], "a": "y"}])

    def answer(request: Request) -> Outcome:
        assert isinstance(request.ask, Generate)
        message = tuple(f"to {turn}" for turn in (request.ask.prompt, *request.ask.turns))
        return completion(str(message[-1]), turns=message)

    assert seen_by(one, answer, "gen") == [("to a", "to b"), ("to c", "to d", "to e")]
    # A conversation of one turn has a tuple too, so that `prediction[-1]` is an answer and not a letter.
    single = compile_one(tmp_path, text, [{"q": ["a"], "a": "x"}])
    assert seen_by(single, lambda request: completion("pear"), "gen") == [("pear",)]
    # A row that failed is handed on in the same shape, and dropped afterwards.
    failing = lambda request: Failure("x", "y") if request.ask.prompt == "c" else answer(request)  # noqa: E731
    assert [len(one) for one in seen_by(one, failing, "gen")] == [2, 3]


@pytest.mark.parametrize("method", ["ppl", "prob", "gen"])
@pytest.mark.parametrize("own", ["", KEEPS])
def test_a_failed_row_is_failed_and_no_answer(tmp_path: Path, method: str, own: str) -> None:
    one = compile_one(tmp_path, CHOICE + own, choice_rows(2, 2, 2), settings={"methods": (method,)})
    bad = next(iter(one.task.samples())).id
    answers: dict[str, Outcome] = {
        "ppl": likelihood(1, 1),
        "prob": LabelProbs((0.5, 0.1), 0.6, 1),
        "gen": completion("A"),
    }
    result = evaluated(
        one, lambda request: Failure("too_long", "no room") if request.sample_id == bad else answers[method]
    )
    first, second, third = result.scores[method]
    assert (first.verdict, first.value, first.why) == (Verdict.FAILED, None, "too_long: no room")
    assert (second.value, third.value) == (0.0, 1.0)
    metric = result.metrics[method, "Accuracy", None]
    assert (metric.value, metric.n, metric.n_scored, metric.n_failed) == (0.5, 3, 2, 1)


@pytest.mark.parametrize("own", ["", KEEPS])
def test_a_probability_that_is_not_known_is_not_handed_to_the_author(tmp_path: Path, own: str) -> None:
    one = compile_one(tmp_path, CHOICE + own, choice_rows(2, 2), settings={"methods": ("prob",)})
    result = evaluated(one, lambda request: LabelProbs((0.5, 0.0), 0.5, 1, at_most=(0.5, 0.1)))
    assert {score.verdict for score in result.scores["prob"]} == {Verdict.FAILED}
    assert "its probability is not known" in (result.scores["prob"][0].why or "")


numbers = st.floats(0.1, 50, allow_nan=False)
options = st.lists(st.tuples(numbers, st.integers(1, 9), numbers), min_size=2, max_size=5)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(options, min_size=1, max_size=5), st.booleans(), st.booleans())
def test_likelihood_formulas(
    tmp_path: Path, rows: list[list[tuple[float, int, float]]], normalises: bool, faithful: bool
) -> None:
    """Accuracy: smallest NLL / tokens. Accuracy:Norm: smallest NLL - NLL behind the bare prompt."""
    text = CHOICE.replace(
        "normalization_prompt", f"use_normalization = {normalises}\n    normalization_prompt"
    )
    one = compile_one(tmp_path, text, choice_rows(*map(len, rows)), settings={"is_faithful": faithful})
    order = {sample.id: n for n, sample in enumerate(one.task.samples())}

    def answer(request: Request) -> Outcome:
        given_, n, alone = rows[order[request.sample_id]][request.index]
        return likelihood(alone if request.role == "unconditional" else given_, n)

    result = evaluated(one, answer)
    name = "Accuracy:Norm" if normalises else "Accuracy"
    for n, (row, score) in enumerate(zip(rows, result.scores["ppl"], strict=True)):
        cost = [g - a if normalises else g / size for g, size, a in row]
        best = min(range(len(row)), key=lambda i: (cost[i], i))
        assert score.answer == "ABCDE"[best]
        assert (score.metric, score.value) == (name, float(best == n % len(row)))
    values = [score.value for score in result.scores["ppl"]]
    assert result.metrics["ppl", name, None].value == pytest.approx(sum(v or 0 for v in values) / len(values))


def test_the_normaliser_is_asked_without_examples(tmp_path: Path) -> None:
    text = CHOICE.replace("normalization_prompt", "use_normalization = True\n    normalization_prompt")
    one = compile_one(tmp_path, text, choice_rows(2), examples=choice_rows(3, 3)[1:], settings={"shots": 1})
    requests = one.task.requests(next(iter(one.task.samples())))
    prompts = {(r.role, r.index): (r.ask.prompt, r.n_shots) for r in requests}
    assert prompts["unconditional", 1] == ("Q: A: o01", 0)
    assert prompts["option", 1] == ("q1 o11\n\nq0 o01", 1)
    # Nothing is normalised by another method, so nothing is asked for it.
    other = compile_one(tmp_path, text, choice_rows(2), settings={"methods": ("prob", "gen")})
    assert {r.role for r in other.task.requests(next(iter(other.task.samples())))} == {"labels", "answer"}


@pytest.mark.parametrize(
    ("text", "n", "expected"),
    [
        ("The answer is B", 3, "B"),
        ("I think A or C", 3, "C"),
        ("a", 3, None),
        ("D", 3, None),
        ("答案是B选项", 3, "B"),
        ("BA", 3, None),
        ("A_B", 3, None),
        ("", 3, None),
        ("(B)", 3, "B"),
    ],
)
def test_the_last_capital_letter_as_in_the_original(
    tmp_path: Path, text: str, n: int, expected: str | None
) -> None:
    one = compile_one(tmp_path, CHOICE, choice_rows(n), settings={"methods": ("gen",), "is_faithful": True})
    (score,) = evaluated(one, lambda _: completion(text)).scores["gen"]
    assert score.answer == expected
    # The original has no word for an answer that is not found: it is wrong.
    assert score.verdict is Verdict.SCORED


def test_an_answer_that_is_not_found_is_unanswered(tmp_path: Path) -> None:
    one = compile_one(tmp_path, CHOICE, choice_rows(2), settings={"methods": ("gen",)})
    result = evaluated(one, lambda _: completion("I would rather not say."))
    assert result.scores["gen"][0].verdict is Verdict.UNANSWERED
    metric = result.metrics["gen", "Accuracy", None]
    assert (metric.value, metric.n_unanswered) == (0.0, 1)


def test_several_contexts(tmp_path: Path) -> None:
    text = """
class Contexts(MultipleChoiceDataset):
    instruction = "{source}"
    def format_instance(self, instance):
        return dict(source=[instance["a"], instance["b"]], source_idx=instance["answer"], target="end")
"""
    rows = [{"a": "one", "b": "two", "answer": 1}, {"a": "three", "b": "four", "answer": 0}]
    one = compile_one(tmp_path, text, rows)
    costs = {"one end": 9.0, "two end": 4.0, "three end": 5.0, "four end": 2.0}
    result = evaluated(one, lambda request: likelihood(costs[str(request.ask.prompt)], 1))
    assert [(s.answer, s.value) for s in result.scores["ppl"]] == [("B", 1.0), ("B", 0.0)]


def test_an_empty_source_scores_the_whole_sentence(tmp_path: Path) -> None:
    text = """
class Pairs(MultipleChoiceDataset):
    instruction = "{source}"
    def format_instance(self, instance):
        return dict(source="", options=[instance["a"], instance["b"]], target_idx=0)
    @property
    def references(self):
        return [0] * len(self.evaluation_data)
"""
    one = compile_one(tmp_path, text, [{"a": "Cats sleep.", "b": "Dogs sleep."}])
    spans = [r.ask for r in one.task.requests(next(iter(one.task.samples())))]
    assert [(s.prompt, s.start) for s in spans] == [("Cats sleep.", 0), ("Dogs sleep.", 0)]  # type: ignore[union-attr]


def test_perplexity_is_the_mean_over_texts(tmp_path: Path) -> None:
    """Nats per token, each text counted once: not exponentiated and not weighted by length."""
    text = """
class Texts(ValidationPerplexityDataset):
    metrics = [PPL()]
    def format_instance(self, instance):
        return dict(text=instance["text"])
"""
    one = compile_one(tmp_path, text, [{"text": "short"}, {"text": "much longer"}])
    found = {"short": likelihood(6, 2), "much longer": likelihood(50, 10)}
    result = evaluated(one, lambda request: found[str(request.ask.prompt)])
    metric = result.metrics["ppl", "PPL", None]
    assert metric.value == pytest.approx((6 / 2 + 50 / 10) / 2)
    assert (metric.higher_is_better, metric.is_share) == (False, False)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.sampled_from("xyz"), min_size=2, max_size=7))
def test_the_most_frequent_sample_counts_the_first_of_equals(tmp_path: Path, samples: list[str]) -> None:
    one = compile_one(tmp_path, FREE, [{"q": "?", "a": "x"}], settings={"samples": len(samples)})
    (score,) = evaluated(one, lambda _: completion(*samples)).scores["gen"]
    most = max(map(samples.count, samples))
    expected = next(sample for sample in samples if samples.count(sample) == most)
    assert (score.answer, score.value) == (expected, float(expected == "x"))


def test_groups_by_category(tmp_path: Path) -> None:
    text = CHOICE.replace("normalization_prompt", 'category_column = "area"\n    normalization_prompt')
    rows = [row | {"area": "ab"[n % 2]} for n, row in enumerate(choice_rows(2, 2, 2, 2, 2))]
    one = compile_one(tmp_path, text, rows)
    result = evaluated(one, lambda request: likelihood(request.index, 1))
    values = {group: (m.value, m.n) for (_, name, group), m in result.metrics.items() if name == "Accuracy"}
    assert values == {None: (0.6, 5), "a": (1.0, 3), "b": (0.0, 2)}
    assert result.metrics["ppl", "Accuracy_macro", None].value == 0.5


def test_a_category_may_be_written_while_formatting(tmp_path: Path) -> None:
    text = CHOICE.replace("return dict(", 'instance["kind"] = "even"\n        return dict(').replace(
        "normalization_prompt", 'category_column = "kind"\n    normalization_prompt'
    )
    one = compile_one(tmp_path, text, choice_rows(2))
    assert [sample.group for sample in one.task.samples()] == ["even"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return predictions[:1]", "returned 1, expected a list of 2"),
        ("return [*predictions, 0]", "returned 3"),
        ("pass", "returned NoneType"),
        ("return 3", "returned int"),
    ],
)
def test_the_number_of_predictions_must_stay(tmp_path: Path, body: str, message: str) -> None:
    text = f"{FREE}\n    def post_processing(self, predictions):\n        {body}\n"
    one = compile_one(tmp_path, text, [{"q": "a", "a": "x"}, {"q": "b", "a": "y"}])
    with pytest.raises(AuthorError, match=rf"LLMBOX-010.*class Free.*{message}"):
        evaluated(one, lambda _: completion("x"))


def test_post_processing_that_relies_on_an_answer_survives_a_failed_row(tmp_path: Path) -> None:
    text = processing("[p.split()[0] for p in predictions]")
    one = compile_one(tmp_path, text, [{"q": "a", "a": "x"}, {"q": "b", "a": "y"}])
    result = evaluated(
        one, lambda request: Failure("x", "y") if request.ask.prompt == "a" else completion("y then")
    )
    assert [score.verdict for score in result.scores["gen"]] == [Verdict.FAILED, Verdict.SCORED]
    assert result.scores["gen"][1].value == 1.0


def test_without_references_the_rows_speak_for_themselves(tmp_path: Path) -> None:
    text = CHOICE[: CHOICE.index("    @property")]
    one = compile_one(tmp_path, text, choice_rows(2, 2))
    assert [sample.gold for sample in one.task.samples()] == [(0,), (1,)]
    free = compile_one(tmp_path, FREE[: FREE.index("    @property")], [{"q": "a", "a": "x"}])
    assert [sample.targets for sample in free.task.samples()] == [("x",)]


@pytest.mark.parametrize("form", ["def references(self):", "@property\n    def reference(self):"])
def test_other_spellings_of_references(tmp_path: Path, form: str) -> None:
    text = FREE.replace("@property\n    def references(self):", form)
    one = compile_one(tmp_path, text, [{"q": "a", "a": "x"}])
    assert evaluated(one, lambda _: completion("x")).metrics["gen", "EM", None].value == 1.0


def test_an_answer_is_explained_by_the_scorer_that_found_it(tmp_path: Path) -> None:
    one = compile_one(tmp_path, CHOICE, choice_rows(3))
    (score,) = evaluated(one, lambda request: likelihood(3 - request.index, 2)).scores["ppl"]
    assert (score.rule, score.answer, score.target) == ("per_token", "C", "A")
    assert [option.sum_logprob for option in score.options] == [-3, -2, -1]
    assert score.margin == pytest.approx(0.5)
    faithful = compile_one(tmp_path, CHOICE, choice_rows(3), settings={"is_faithful": True})
    (own,) = evaluated(faithful, lambda request: likelihood(3 - request.index, 2)).scores["ppl"]
    assert (own.rule, own.answer) == ("post_processing", "C")


def test_random_answers_of_the_authors_code_do_not_leak(tmp_path: Path) -> None:
    text = "import random\n" + processing("[str(random.random()) for _ in predictions]")
    one = compile_one(tmp_path, text, [{"q": "a", "a": "x"}])
    before = random.getstate()
    first = evaluated(one, lambda _: completion("x")).scores["gen"][0].answer
    second = evaluated(one, lambda _: completion("x")).scores["gen"][0].answer
    assert first == second
    assert random.getstate() == before


def test_a_value_that_is_no_number_fails_its_row(tmp_path: Path) -> None:
    text = f"""
class Odd:
    def __call__(self, predictions, references):
        values = [float("nan") if p == "?" else 1.0 for p in predictions]
        self.last_score_lists = {{"Odd": values}}
        return {{"Odd": sum(v for v in values if v == v) / len(values)}}
{FREE.replace("Em()", "Odd()")}"""
    one = compile_one(tmp_path, text, [{"q": "a", "a": "x"}, {"q": "b", "a": "y"}])
    result: Evaluated = evaluated(one, lambda request: completion("?" if request.ask.prompt == "a" else "y"))
    first, second = result.scores["gen"]
    assert (first.verdict, first.value) == (Verdict.FAILED, None)
    assert first.why == "the metric Odd returned no number for Odd"
    assert (second.verdict, second.value) == (Verdict.SCORED, 1.0)
    assert math.isclose(result.metrics["gen", "Odd", None].n_failed, 1)


def test_the_two_spellings_of_a_letter(tmp_path: Path) -> None:
    """They add up; in the original each is a candidate of its own, and the likeliest decides."""
    mass = {" A": 0.30, "A": 0.01, " B": 0.20, "B": 0.20}

    def answer(request: Request) -> Outcome:
        assert isinstance(request.ask, Labels)
        probs = tuple(sum(mass[spelling] for spelling in label) for label in request.ask.labels)
        return LabelProbs(probs, sum(probs), 1)

    for faithful, expected in ((False, "B"), (True, "A")):
        one = compile_one(
            tmp_path, CHOICE, choice_rows(2), settings={"methods": ("prob",), "is_faithful": faithful}
        )
        (score,) = evaluated(one, answer).scores["prob"]
        assert (score.answer, score.value) == (expected, float(expected == "A"))


@pytest.mark.parametrize("faithful", [False, True])
def test_a_choice_is_voted_on_by_its_samples(tmp_path: Path, faithful: bool) -> None:
    one = compile_one(
        tmp_path,
        CHOICE,
        choice_rows(3, 2),
        settings={"methods": ("gen",), "samples": 3, "is_faithful": faithful},
    )
    first = next(iter(one.task.samples())).id
    replies = {True: ("C", "A", "A"), False: ("B", "A", "B")}
    result = evaluated(one, lambda request: completion(*replies[request.sample_id == first]))
    assert [score.answer for score in result.scores["gen"]] == ["A", "B"]
    assert result.metrics["gen", "Accuracy", None].value == 1.0


def test_samples_without_an_answer_have_no_vote(tmp_path: Path) -> None:
    one = compile_one(tmp_path, CHOICE, choice_rows(2), settings={"methods": ("gen",), "samples": 3})
    (score,) = evaluated(one, lambda _: completion("Well.", "A", "Hm.")).scores["gen"]
    assert (score.answer, score.rule) == ("A", "vote")
    (silent,) = evaluated(one, lambda _: completion("Well.", "So.", "Hm.")).scores["gen"]
    assert silent.verdict is Verdict.UNANSWERED
