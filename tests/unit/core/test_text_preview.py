from __future__ import annotations

from assay.core.errors import Problem, listing, suggest_name
from assay.core.origin import Origin
from assay.core.text_preview import MAX_MESSAGE_CHARS, shorten_text


def test_a_short_text_stays_as_it_is() -> None:
    assert shorten_text("x" * MAX_MESSAGE_CHARS) == "x" * MAX_MESSAGE_CHARS


def test_of_a_long_text_beginning_end_and_length_are_shown() -> None:
    shown = shorten_text("a" * 1_000_000 + "z" * 1_000_000)
    assert shown.startswith("aaa")
    assert shown.endswith("zzz")
    assert "(2,000,000 characters in all)" in shown
    assert len(shown) < MAX_MESSAGE_CHARS + 100


def test_a_problem_shows_long_values_shortened_and_its_own_words_whole() -> None:
    value = "x" * 1_600_000
    problem = Problem("TABLE-011", f"found {value!r}, expected one of 'A', 'B'", f"not {value!r}; write A")
    assert problem.what.startswith("found 'xxx")
    assert problem.what.endswith("x', expected one of 'A', 'B'")
    assert "(1,600,002 characters in all)" in problem.what
    assert problem.fix.endswith("write A")
    assert len(str(problem)) < 1_000


def test_names_and_columns_are_shortened() -> None:
    name = "x" * 1_600_000
    assert len(listing([name] * 3)) < 1_000
    assert len(str(Origin("d.csv", 1, 2, name))) < 500
    assert suggest_name(name, [name + "y"]) == ""
