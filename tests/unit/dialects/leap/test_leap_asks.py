"""The model's request for each author's request, and the values that the author's code gets back."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import PlanError
from assay.core.model import Token
from assay.core.prompt import Message
from assay.core.request import Ask, Generate, Kind, Labels, Request, Sampling, Span, Windows
from assay.core.response import Outcome
from assay.core.score import Verdict
from assay.dialects.leap.author_requests import RequestFactory
from assay.dialects.leap.calling import InvalidReturn
from assay.dialects.leap.model_requests import read_requests
from assay.dialects.leap.original_window import OriginalWindow
from fakes.leap_tasks import (
    CHOICE,
    FREE,
    HEAD,
    asks,
    compile_one,
    evaluated,
    failure,
    likely,
    questions,
    scored,
    shares,
    written,
)

rf, classic = RequestFactory(), RequestFactory(is_classic=True)
ROWS = {"validation": questions(2)}


def custom(requests: str, results: str = '{"acc": 1.0}', text: str = "") -> str:
    """Return a class with these requests, that says this of the results."""
    return (
        f"{HEAD}\nclass Own(Base):\n    def construct_requests(self, doc, ctx):\n        return {requests}\n"
        f"    def process_results(self, doc, results):\n        return {results}\n{text}"
    )


@given(
    blanks=st.integers(0, 3),
    context=st.text("ab ", max_size=4),
    answer=st.text("xy ", min_size=1, max_size=4),
)
def test_blanks_at_the_end_of_a_context_belong_to_the_answer(blanks: int, context: str, answer: str) -> None:
    from assay.core.task import TaskSettings
    from assay.dialects.leap.contexts import Context
    from assay.dialects.leap.model_requests import LeapRequestBuilder

    whole = context + " " * blanks
    (wish,) = read_requests(rf.loglikelihood(whole, answer)).every
    ask = LeapRequestBuilder(TaskSettings()).ask(wish, Context(whole, None, 0, 0))
    assert isinstance(ask, Span)
    assert ask.prompt == whole + answer
    assert ask.prompt[ask.start :] == whole[len(whole.rstrip(" ")) :] + answer
    faithful = LeapRequestBuilder(TaskSettings(is_faithful=True)).ask(wish, Context(whole, None, 0, 0))
    assert isinstance(faithful, Span)
    assert faithful.start == len(whole)


def test_an_option_is_scored_behind_the_question(tmp_path: Path) -> None:
    first, second = asks(compile_one(tmp_path, CHOICE, ROWS))
    assert (scored(first), scored(second)) == (" yes", " no")
    assert first.prompt == "Is 0 even? yes"


def test_parts_of_one_request_are_one_ask_and_equal_options_are_two() -> None:
    number, flag = rf.loglikelihood("c", " x")
    assert len(read_requests([number, flag]).every) == 1
    assert len(read_requests([number, number]).every) == 2
    assert len(read_requests([number, flag, number, flag]).every) == 2
    assert len(read_requests([flag, rf.loglikelihood("c", " y")[1]]).every) == 2
    assert [value.wish for value in read_requests([number, rf.loglikelihood("c", " y")[0], flag]).values] == [
        0,
        1,
        0,
    ]


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("text", "returned str"),
        (None, "NoneType"),
        ([], "no request"),
        ({"a": 1}, "dict"),
        ([rf.loglikelihood("c", " x")[0], 3], "int"),
        (rf.loglikelihood("c"), "1 arguments"),
        (rf.loglikelihood("c", 3), "expected a text"),
        (rf.loglikelihood("c", ""), "empty continuation"),
        (rf.greedy_until("c"), "1 arguments"),
        (rf.greedy_until("c", {"until": [3]}), "expected texts"),
        (rf.greedy_until("c", 7), "expected texts"),
        (rf.loglikelihood_rolling(["a"]), "expected a text"),
    ],
)
def test_what_is_no_request_is_rejected(given: Any, what: str) -> None:
    with pytest.raises(InvalidReturn, match=what) as caught:
        read_requests(given)
    assert caught.value.code == "LEAP-004"
    assert caught.value.fix


@pytest.mark.parametrize(
    ("how", "until", "max_tokens"),
    [
        ({"until": ["\n", "##"]}, ("\n", "##"), None),
        ({"until": "\n"}, ("\n",), None),
        (["\n"], ("\n",), None),
        ("\n", ("\n",), None),
        ({"until": [], "max_length": 7}, (), 7),
        ({"until": ["x"], "max_gen_toks": 9}, ("x",), 9),
        ({"until": None, "max_gen_toks": None}, (), None),
    ],
)
def test_ways_of_saying_where_a_text_ends(how: Any, until: tuple[str, ...], max_tokens: int | None) -> None:
    writing = read_requests(rf.greedy_until("c", how)).every[0].writing
    assert writing is not None
    assert (writing.until, writing.max_tokens) == (until, max_tokens)


UNTIL = 'rf.greedy_until(ctx, {"until": [doc["q"][3]], "max_length": 9, "do_sample": False})'


def samplings(one: Any) -> list[Sampling]:
    found = []
    for number in range(2):
        (ask,) = asks(one, number)
        assert isinstance(ask, Generate)
        found.append(ask.sampling)
    return found


def test_a_text_is_written_as_its_request_says_and_flags_win(tmp_path: Path) -> None:
    one = compile_one(tmp_path, custom(UNTIL), ROWS)
    assert samplings(one) == [Sampling(9, stop=("0",)), Sampling(9, stop=("1",))]
    assert "the options 'do_sample' of greedy_until are not sent to the model" in one.notes
    assert one.task.spec.methods == ("gen",)
    one = compile_one(tmp_path, FREE, None)
    assert samplings(one) == [Sampling(256, stop=("\n",))] * 2
    message = {"max_tokens": 3, "temperature": 0.5, "top_p": 0.9, "stop": ("!",), "seed": 4}
    one = compile_one(tmp_path, FREE, None, **message)
    assert samplings(one) == [Sampling(3, 0.5, 0.9, ("!",), seed=4)] * 2


def test_the_faithful_way_samples_16_tokens_up_to_the_first_documents_end(tmp_path: Path) -> None:
    one = compile_one(tmp_path, custom(UNTIL), ROWS, is_faithful=True)
    (first, second) = samplings(one)
    assert first == second == Sampling(16, 1.0, stop=first.stop, seed=0)
    assert samplings(compile_one(tmp_path, FREE, None, is_faithful=True, temperature=0.0))[0].temperature == 0


def test_blanks_that_a_model_writes_itself_are_no_part_of_its_answer(tmp_path: Path) -> None:
    text = FREE.replace('return doc["q"]\n', 'return doc["q"] + " "\n')
    one = compile_one(tmp_path, text, ROWS)
    assert asks(one)[0].prompt == "Is 0 even?"
    found = evaluated(one, lambda request: written(" yes"))
    assert [score.value for score in found.scores] == [1.0, 0.0]
    assert str(asks(compile_one(tmp_path, text, None, is_faithful=True))[0].prompt).endswith(" ")


def test_a_rolling_likelihood_reads_the_whole_text_in_windows(tmp_path: Path) -> None:
    one = compile_one(tmp_path, custom("rf.loglikelihood_rolling(doc['q'])", '{"acc": results[0]}'), ROWS)
    assert asks(one) == [Span("Is 0 even?", 0, windows=Windows("classic"))]
    found = evaluated(one, lambda request: likely(-2.5))
    assert [score.value for score in found.scores] == [-2.5, -2.5]
    assert one.kind == "text"


MIXED = custom(
    '[rf.loglikelihood(ctx, " yes")[0], rf.greedy_until(ctx, ["."]), rf.loglikelihood_rolling("t")]',
    '{"acc": results == [-1.0, "text", -3.0]}',
)


def answer_mixed(request: Request) -> Outcome:
    if isinstance(request.ask, Generate):
        return written("text")
    return likely(-3.0 if request.role == "text" else -1.0)


def test_requests_of_several_types_are_one_track(tmp_path: Path) -> None:
    one = compile_one(tmp_path, MIXED, ROWS)
    assert one.task.spec.methods == ("gen",)
    assert one.task.kinds == {Kind.GENERATE, Kind.SPAN}
    assert {request.track for request in one.task.requests(next(one.task.samples()))} == {"gen"}
    assert [score.value for score in evaluated(one, answer_mixed).scores] == [1.0, 1.0]
    (note,) = [note for note in one.notes if "request_type" in note]
    assert "'loglikelihood', but its requests are 'greedy_until'" in note


PARTS = '[*rf.loglikelihood(ctx, " a"), rf.loglikelihood(ctx, " b")]'
CLASSIC_PARTS = (
    custom(PARTS, '{"acc": float(results == [-1.0, True, (-2.0, False)])}')
    .replace("from .base import", "from lm_eval.base import")
    .replace("def load(self, data_dir=None, cache_dir=None)", "def download(self, *args)")
)


def answer_parts(request: Request) -> Outcome:
    return likely(-1.0, True) if scored(request.ask) == " a" else likely(-2.0, False)


def test_parts_of_a_likelihood(tmp_path: Path) -> None:
    leap = compile_one(tmp_path, custom(PARTS, '{"acc": float(results == [-1.0, True, -2.0])}'), ROWS)
    assert evaluated(leap, answer_parts).metrics["acc"].value == 1.0
    faithful = custom(PARTS, '{"acc": float(results == [-1.0, -1.0, -2.0])}')
    assert (
        evaluated(compile_one(tmp_path, faithful, None, is_faithful=True), answer_parts).metrics["acc"].value
        == 1.0
    )
    assert evaluated(compile_one(tmp_path, CLASSIC_PARTS, None), answer_parts).metrics["acc"].value == 1.0
    again = compile_one(tmp_path, CLASSIC_PARTS, None, is_faithful=True)
    assert evaluated(again, answer_parts).metrics["acc"].value == 1.0


def test_a_flag_that_the_model_does_not_give_fails_the_document(tmp_path: Path) -> None:
    one = compile_one(tmp_path, CLASSIC_PARTS, ROWS)
    found = evaluated(one, lambda request: likely(-1.0, None))
    assert {score.verdict for score in found.scores} == {Verdict.FAILED}
    assert "does not report" in (found.scores[0].why or "")
    assert (
        evaluated(compile_one(tmp_path, CHOICE, None), lambda request: likely(-1.0, None))
        .metrics["acc"]
        .n_failed
        == 0
    )


def test_options_and_their_numbers_are_shown(tmp_path: Path) -> None:
    one = compile_one(tmp_path, CHOICE, ROWS)
    first, second = one.task.samples()
    assert (first.choices, first.labels, first.gold, first.targets) == (("yes", "no"), ("A", "B"), (0,), ())
    assert second.gold == (1,)
    found = evaluated(one, lambda request: likely(-1.0 if scored(request.ask) == " no" else -3.0))
    (score, _) = found.scores
    assert (score.answer, score.target, score.value, score.margin) == ("B", "A", 0.0, 2.0)
    assert [option.sum_logprob for option in score.options] == [-3.0, -1.0]
    assert one.kind == "choice"


def test_one_continuation_is_no_choice(tmp_path: Path) -> None:
    one = compile_one(tmp_path, custom('rf.loglikelihood(ctx, " yes")', '{"acc": results[0]}'), ROWS)
    (first, _) = one.task.samples()
    assert (first.choices, first.targets) == ((), ("yes",))
    assert one.kind == "likelihood"


def test_contexts_that_differ_are_no_choice(tmp_path: Path) -> None:
    one = compile_one(tmp_path, custom('[rf.loglikelihood(ctx + x, " y")[0] for x in "ab"]'), ROWS)
    assert next(one.task.samples()).choices == ()
    with pytest.raises(PlanError, match=r"LEAP-009.*several continuations of one context"):
        compile_one(
            tmp_path, custom('[rf.loglikelihood(ctx + x, " y")[0] for x in "ab"]'), None, methods=("prob",)
        )


def test_by_prob_the_shares_are_compared(tmp_path: Path) -> None:
    text = CHOICE.replace("def process_results", "def seen(self): ...\n    def process_results")
    text = text.replace(
        '        return {"acc": ("yes"',
        "        assert abs(sum(2.718281828459045 ** r for r in results) - 1) < 1e-9\n"
        '        return {"acc": ("yes"',
    )
    one = compile_one(tmp_path, text, ROWS, methods=("prob",))
    (ask,) = asks(one)
    assert ask == Labels("Is 0 even?", ((" yes", "yes"), (" no", "no")))
    found = evaluated(one, lambda request: shares(0.2, 0.1))
    (score, other) = found.scores
    assert (score.value, score.answer, other.value) == (1.0, "A", 0.0)
    assert score.mass == pytest.approx(0.3)
    none = evaluated(compile_one(tmp_path, CHOICE, None, methods=("prob",)), lambda request: shares(0.0, 0.0))
    assert {score.verdict for score in none.scores} == {Verdict.UNANSWERED}


def test_by_prob_the_flag_says_which_label_the_model_would_write(tmp_path: Path) -> None:
    text = CHOICE.replace('" " + one)[0]', '" " + one)[1]').replace(
        '("yes", "no")[results.index(max(results))] == doc["a"]', "results == [False, True]"
    )
    assert text != CHOICE
    one = compile_one(tmp_path, text, ROWS, methods=("prob",))
    assert [score.value for score in evaluated(one, lambda request: shares(0.2, 0.6)).scores] == [1.0, 1.0]
    assert [score.value for score in evaluated(one, lambda request: shares(0.6, 0.2)).scores] == [0.0, 0.0]


def test_a_probability_that_is_not_known_is_not_handed_to_the_author(tmp_path: Path) -> None:
    one = compile_one(tmp_path, CHOICE, ROWS, methods=("prob",))
    open_ = msgspec.structs.replace(shares(0.2, 0.0), at_most=(0.2, 0.1))
    found = evaluated(one, lambda request: open_)
    assert {score.verdict for score in found.scores} == {Verdict.FAILED}
    assert "its probability is not known" in (found.scores[0].why or "")


def test_two_methods_are_two_tracks(tmp_path: Path) -> None:
    one = compile_one(tmp_path, CHOICE, ROWS, methods=("ppl", "prob"))
    tracks = [request.track for request in one.task.requests(next(one.task.samples()))]
    assert tracks == ["ppl", "ppl", "prob"]


@pytest.mark.parametrize(("text", "method"), [(CHOICE, "gen"), (FREE, "ppl"), (FREE, "prob"), (MIXED, "ppl")])
def test_methods_that_do_not_go_with_the_requests_are_rejected(
    tmp_path: Path, text: str, method: str
) -> None:
    with pytest.raises(PlanError, match="LEAP-009"):
        compile_one(tmp_path, text, ROWS, methods=(method,))


def test_two_options_alike_cannot_be_labels(tmp_path: Path) -> None:
    text = CHOICE.replace('("yes", "no"))]', '("yes", "no", "yes"))]').replace(
        'in ("yes", "no")', 'in ("yes", "yes")'
    )
    with pytest.raises(PlanError, match=r"LEAP-009.*document 1.*two continuations are 'yes'"):
        compile_one(tmp_path, text, ROWS, methods=("prob",))
    assert len(asks(compile_one(tmp_path, text, None))) == 2


def test_an_author_may_change_the_context_of_a_chat(tmp_path: Path) -> None:
    begun = compile_one(tmp_path, custom('rf.loglikelihood(ctx + " I say", " yes")'), ROWS, is_chat=True)
    assert asks(begun) == [Span((Message("user", "Is 0 even?"), Message("assistant", "I say yes")), 5)]
    other = compile_one(tmp_path, custom('rf.greedy_until("Listen: " + ctx, [])'), None, is_chat=True)
    assert asks(other)[0].prompt == (Message("user", "Listen: Is 0 even?"),)
    stripped = compile_one(tmp_path, custom('rf.greedy_until(ctx.strip() + "  ", [])'), None, is_chat=True)
    assert asks(stripped)[0].prompt == (Message("user", "Is 0 even?"),)


def test_a_failed_request_fails_the_document(tmp_path: Path) -> None:
    one = compile_one(tmp_path, CHOICE, ROWS)
    found = evaluated(one, lambda request: failure() if "Is 1" in str(request.ask.prompt) else likely(-1.0))
    assert [score.verdict for score in found.scores] == [Verdict.SCORED, Verdict.FAILED]
    assert found.scores[1].why == "too_long: too long"
    assert (found.metrics["acc"].n_scored, found.metrics["acc"].n_failed) == (1, 1)


def letters(prefix: str = "", *, lead: bool = False) -> Any:
    """Return a tokenizer of one token for each letter, but `th` for one of two; some begin with a mark."""

    def tokens(ask: Ask) -> list[Token]:
        assert isinstance(ask.prompt, str)
        start = ask.start if isinstance(ask, Span) else len(ask.prompt)
        found, at = [Token(0, prefix, False)] if prefix else [], 0
        while at < len(ask.prompt):
            text = ask.prompt[at : at + 2] if ask.prompt[at : at + 2] == "th" else ask.prompt[at]
            at += len(text)
            found.append(Token(ord(text[0]) * 1000 + len(text), text, at > start))
        return found

    return tokens


def test_the_originals_window_is_counted_on_the_continuation_alone() -> None:
    # All begin alike, so the first token of each is not counted.
    alike = OriginalWindow(letters(), [" ab", " c"])
    assert alike.total(likely(0.0, None, -1.0, -2.0, -4.0), " ab") == -6.0
    assert alike.total(likely(0.0, None, -1.0, -2.0), " c") == -2.0
    different = OriginalWindow(letters(), ["ab", "c"])
    assert different.total(likely(0.0, None, -1.0, -2.0, -4.0), "ab") == -6.0
    # The mark of the beginning is what all share; then nothing else is left out.
    marked = OriginalWindow(letters("<s>"), [" ab", " c"])
    assert marked.total(likely(0.0, None, -1.0, -2.0, -4.0), " ab") == -7.0
    assert not OriginalWindow(letters(), ["a"]).is_whole
    assert not OriginalWindow(lambda ask: [], ["a"]).has_tokens


def test_a_window_that_begins_before_the_join_is_asked_for() -> None:
    window = OriginalWindow(letters(), ["he", "an"])
    # `t` and `h` are one token here: the window of two reaches back over it.
    assert window.widen_span(Span("at" + "he", 2), "he") == Span("athe", 2)
    assert window.widen_span(Span("xat" + "h", 3), "he").start < 3


def test_the_faithful_way_sums_the_originals_window(tmp_path: Path) -> None:
    one = compile_one(tmp_path, CHOICE, ROWS, is_faithful=True, tokens=letters())
    assert one.task.spec.settings["window"] == "original"

    def answer(request: Request) -> Outcome:
        parts = (-9.0, -1.0, -1.0, -1.0) if scored(request.ask) == " yes" else (-1.0, -1.5, -1.4)
        return likely(math.fsum(parts), None, *parts)

    found = evaluated(one, answer)
    # Both begin with a blank, which is not counted: -3.0 against -2.9.
    assert {score.answer for score in found.scores} == {"B"}
    corrected = compile_one(tmp_path, CHOICE, None, tokens=letters())
    assert corrected.task.spec.settings["window"] == "join"
    without = compile_one(tmp_path, CHOICE, None, is_faithful=True)
    assert without.task.spec.settings["window"] == "join"
    assert any("window" in note for note in without.notes)
