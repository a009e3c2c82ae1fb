"""Extractors by name: their matches, positions, and the error for an unknown name."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.origin import Origin
from assay.core.request import Generate, Sampling, make_request
from assay.core.response import Completion, Finish, Output, Response
from assay.core.sample import Sample
from assay.core.score import Score, Verdict
from assay.core.task import AnsweredRequest, Scorer
from assay.scoring.originals.opencompass.postprocess import POSTPROCESSORS
from assay.scoring.originals.ultraeval.row_metrics import make_row_metrics
from assay.scoring.scorers.extractors import OWN_EXTRACTORS, find_extractor
from assay.scoring.scorers.generated import GeneratedAnswer, GeneratedOption

CHOICE = Sample("1", {}, Origin("a.csv"), choices=("Paris", "Rome"), labels=("A", "B"), gold=(1,))
NUMBER = Sample("1", {}, Origin("a.csv"), targets=("18",))
TEXT = Sample("1", {}, Origin("a.csv"), targets=("the Seine",))


def scored(scorer: Scorer, sample: Sample, text: str) -> Score:
    requests = make_request("t", sample.id, "gen", "answer", 0, Generate("?", Sampling()))
    completion = Completion((Output(text, Finish.END, 1),), 1)
    return scorer.score(sample, [AnsweredRequest(requests, Response(requests.id, requests.key, completion))])


@given(st.text(alphabet="AB 12x\n", max_size=40))
def test_a_pattern_finds_the_first_or_the_last_match_where_it_is(text: str) -> None:
    matches = re.findall(r"[AB]", text)
    for prefix, expected in (("regex:", matches[:1]), ("last-regex:", matches[-1:])):
        found = find_extractor(f"{prefix}[AB]")(text, CHOICE)
        assert ([found.answer] if found.answer else []) == expected
        assert found.span is None or text[slice(*found.span)] == found.answer


def test_the_group_of_a_pattern_is_the_answer() -> None:
    find = find_extractor(r"regex:answer is (\w)|option (\w)")
    assert find("So the answer is B.", CHOICE).answer == "B"
    assert find("I take option A", CHOICE).answer == "A"
    assert find("<think>the answer is A</think> the answer is B", CHOICE).answer == "B", (
        "reasoning is left out"
    )
    assert find("<think>the answer is A", CHOICE).answer is None


@given(st.text(max_size=60))
def test_a_post_processor_finds_what_it_finds_in_a_config(text: str) -> None:
    if "<" in text or "[" in text or "◁" in text:
        return  # What may be reasoning is cut away before.
    for name in ("first-capital", "gsm8k_post", "general"):
        assert find_extractor(name)(text, CHOICE).answer == POSTPROCESSORS[name](text)


@pytest.mark.parametrize(
    ("sample", "text", "extract", "answer", "value"),
    [
        (CHOICE, "My pick: (b)", r"regex:\((.)\)", "B", 1.0),
        (CHOICE, "final: rome", r"regex:final: (\w+)", "B", 1.0),
        (CHOICE, "final: Paris", r"regex:final: (\w+)", "A", 0.0),
        (CHOICE, "A or B? B", "first-capital", "A", 0.0),
        (CHOICE, "The answer is B", "auto", "B", 1.0),
        (NUMBER, "20 - 2 = 18.0, so 5 are left", "regex:= ([\\d.]+)", "18.0", 1.0),
        (NUMBER, "20 - 2 = 18", "number", "18", 1.0),
        (NUMBER, "18 apples of 20", "auto", "18", 1.0),
        (TEXT, "river: The Seine.", r"regex:river: (.*)", "The Seine.", 1.0),
        (TEXT, "the Seine", "whole", "the Seine", 1.0),
        (TEXT, "I say the Seine", "whole", "I say the Seine", 0.0),
    ],
)
def test_what_is_found_is_compared_as_in_a_run(
    sample: Sample, text: str, extract: str, answer: str, value: float
) -> None:
    scorer = (GeneratedOption if sample.choices else GeneratedAnswer)(extract=extract)
    score = scored(scorer, sample, text)
    assert (score.answer, score.value, score.verdict) == (answer, value, Verdict.SCORED)
    assert score.rule


@pytest.mark.parametrize("sample", [CHOICE, TEXT])
def test_nothing_found_is_unanswered(sample: Sample) -> None:
    scorer = (GeneratedOption if sample.choices else GeneratedAnswer)(extract="regex:final (.)")
    assert scored(scorer, sample, "no idea").verdict is Verdict.UNANSWERED


def test_a_text_that_is_no_option_is_unanswered_and_its_rule_is_reported() -> None:
    score = scored(GeneratedOption(extract="regex:final (.)"), CHOICE, "final C")
    assert (score.verdict, score.rule, score.answer) == (Verdict.UNANSWERED, "regex:final (.)", None)


def test_a_text_that_two_options_share_names_neither() -> None:
    twice = Sample(
        "s", {}, Origin("data.csv"), choices=("Rhine", "rhine", "Elbe"), labels=("A", "B", "C"), gold=(0,)
    )
    scorer = GeneratedOption(extract="regex:= (.*)")
    assert scored(scorer, twice, "river = Rhine").verdict is Verdict.UNANSWERED
    assert scored(scorer, twice, "river = elbe").answer == "C"


def test_metrics_of_rows_read_by_any_extractor() -> None:
    scorer = make_row_metrics(metrics={"f1": {"type": "f1_score"}}, extract="regex:= (.*)")
    assert isinstance(scorer, Scorer)
    score = scored(scorer, TEXT, "river = the Rhine")
    assert (score.answer, score.value, score.rule, score.span) == ("the Rhine", 0.5, "regex:= (.*)", (8, 17))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nubmer", "did you mean 'number'"),
        ("regex:(", "not a valid regular expression"),
        ("regex:", "needs a pattern after it"),
    ],
)
def test_a_wrong_name_is_reported(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        find_extractor(name)


def test_assays_own_are_there_by_name() -> None:
    assert [find_extractor(name) for name in OWN_EXTRACTORS] == [find for find, _ in OWN_EXTRACTORS.values()]
