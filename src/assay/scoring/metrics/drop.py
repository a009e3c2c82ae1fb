"""DROP: answers that are numbers, dates or several spans, by the rules of its official script.

Differences from LLMBox's copy of those rules: each span is a bag of its own (the copy pours all spans into
one, so that spans need not match one to one), and `and` is a word like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assay.scoring.metrics.assignment import best_assignment
from assay.scoring.metrics.words import is_number, split_at_spaces_and_hyphens, squad_form

Spans = tuple[str, ...]
"""One acceptable answer: its spans; a number or a date is a single one."""


class DropScore(NamedTuple):
    """The two scores of one answer, each from 0 to 1."""

    em: float
    f1: float


def get_answers(doc: Mapping[str, Any]) -> list[Spans]:
    """Return the acceptable answers of a DROP row, each once, the main one first.

    Reads `answer` (number, date, spans) and `validated_answers`, in which each of the three is a list.
    """
    validated = doc["validated_answers"]
    columns = (validated["number"], validated["date"], validated["spans"])
    others = [
        {"number": number, "date": date, "spans": spans} for number, date, spans in zip(*columns, strict=True)
    ]
    return list(dict.fromkeys(_spans(answer) for answer in [doc["answer"], *others]))


def _spans(answer: Mapping[str, Any]) -> Spans:
    if answer["number"] != "":
        return (str(answer["number"]),)
    if len(answer["spans"]):
        return tuple(answer["spans"])
    date = answer["date"]
    return (" ".join((date["day"], date["month"], date["year"])).strip(),)


def drop_score(prediction: str | Sequence[str], answers: Sequence[str | Sequence[str]]) -> DropScore:
    """Return the best EM and the best F1 over the acceptable answers; an empty answer is not acceptable."""
    got = _as_spans(prediction)
    usable = [spans for spans in map(_as_spans, answers) if spans and spans[0].strip()]
    if not usable:
        raise ValueError(f"no acceptable answer that is not empty in {answers!r}")
    each = [_compare(got, wanted) for wanted in usable]
    return DropScore(max(score.em for score in each), max(score.f1 for score in each))


def _as_spans(answer: str | Sequence[str]) -> Spans:
    return (answer,) if isinstance(answer, str) else tuple(answer)


def _compare(got: Spans, wanted: Spans) -> DropScore:
    got_forms, wanted_forms = [_form(span) for span in got], [_form(span) for span in wanted]
    is_exact = set(got_forms) == set(wanted_forms) and len(got_forms) == len(wanted_forms)
    got_bags, wanted_bags = (
        [set(form.split()) for form in got_forms],
        [set(form.split()) for form in wanted_forms],
    )
    scores = [[_bag_score(bag, target) for bag in got_bags] for target in wanted_bags]
    total = sum(scores[row][column] for row, column in best_assignment(scores))
    # Spans without a partner count as 0; the official script rounds, so published numbers are rounded.
    return DropScore(float(is_exact), round(total / max(len(got_bags), len(wanted_bags)), 2))


def _bag_score(got: set[str], wanted: set[str]) -> float:
    """Return F1 between sets of words, 0 when the target has numbers of which none was given.

    An empty set has precision or recall 1, as in the official script.
    """
    numbers = {word for word in wanted if is_number(word)}
    if numbers and numbers.isdisjoint(got):
        return 0.0
    shared = len(got & wanted)
    precision = shared / len(got) if got else 1.0
    recall = shared / len(wanted) if wanted else 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _form(span: str) -> str:
    """Return lower case words without punctuation and articles; numbers by value, so that `4.0` is `4`."""
    words = (_word_form(word) for word in split_at_spaces_and_hyphens(span))
    return " ".join(word for word in words if word)


def _word_form(word: str) -> str:
    # A number keeps its point and sign, which are punctuation elsewhere.
    form = word if is_number(word) else squad_form(word)
    return str(float(form)) if is_number(form) else form
