from hypothesis import given
from hypothesis import strategies as st

from assay.dialects.openicl.templates.text import (
    TemplateMarks,
    TemplateText,
    fill_repeatedly,
    find_common_prefix,
)

FAITHFUL = TemplateMarks(is_faithful=True)
words = st.text("ab {}\n\\", max_size=8)
rows = st.dictionaries(st.sampled_from(["a", "b", "ab"]), words, max_size=3)


def test_a_hole_is_filled_once() -> None:
    row = {"question": "what is {answer}?", "answer": "42"}
    assert TemplateText("Q: {question}", TemplateMarks()).fill(row) == "Q: what is {answer}?"
    assert TemplateText("Q: {question}", FAITHFUL).fill(row) == "Q: what is 42?"


def test_what_is_no_column_stays_as_it_is_written() -> None:
    written = '\\boxed{} {"a": 1} \\frac{x}{y} {unknown} {{a}} {a'
    for marks in (TemplateMarks(), FAITHFUL):
        assert (
            TemplateText(written, marks).fill({"a": 7}) == '\\boxed{} {"a": 1} \\frac{x}{y} {unknown} {7} {a'
        )


@given(st.text("{}ab ", max_size=20), rows)
def test_both_ways_agree_where_no_value_has_braces(raw: str, row: dict[str, str]) -> None:
    row = {name: value.replace("{", "").replace("}", "") for name, value in row.items()}
    # A filled hole between braces may look like another one; one way fills that, too.
    if "{{" not in raw:
        assert TemplateText(raw, TemplateMarks()).fill(row) == TemplateText(raw, FAITHFUL).fill(row)


@given(st.text("{}ab", max_size=20), rows)
def test_filling_once_agrees_with_marks_that_no_value_has(raw: str, row: dict[str, str]) -> None:
    marked = {name: f"\ue000{at}\ue001" for at, name in enumerate(row)}
    expected = fill_repeatedly(raw, marked, FAITHFUL)
    for at, value in enumerate(row.values()):
        expected = expected.replace(f"\ue000{at}\ue001", value)
    if not any(f"{{{mark}}}" in fill_repeatedly(raw, marked, FAITHFUL) for mark in marked):
        assert TemplateText(raw, TemplateMarks()).fill(row) == expected


def test_tokens_of_the_author_are_holes() -> None:
    marks = TemplateMarks("</E>", None, {"question": "</Q>", "answer": "</A>"})
    row = {"question": "is </A> here? {answer}", "answer": "no"}
    assert TemplateText("</E></Q> -> </A> {question}", marks).fill(row, "EX ") == (
        "EX is </A> here? {answer} -> no {question}"
    )
    assert TemplateText("</Q>", marks._replace(is_faithful=True)).fill(row) == "is no here? {answer}"


def test_a_token_without_a_column_is_a_fault() -> None:
    text = TemplateText(
        "</Q> </A>", TemplateMarks(tokens={"qestion": "</Q>", "answer": "</A>", "unused": "</U>"})
    )
    (fault,) = text.faults(["question", "answer"], "it")
    assert fault.what.endswith("names 'qestion', but there is no such column (did you mean 'question'?)")


def test_the_separator_token_is_never_shown() -> None:
    text = TemplateText("{q} <SEP>{a}", TemplateMarks(sep_token="<SEP>"))
    assert text.fill({"q": "1", "a": "2"}) == "1 2"
    assert text.until(text.separated_at).fill({"q": "1"}) == "1 "


def test_placeholders_without_a_column_are_faults() -> None:
    found = [
        fault.what
        for fault in TemplateText("{quesion} {OPTION_A}", TemplateMarks()).faults(
            ["question", "option_A"], "it"
        )
    ]
    assert found == [
        "it has the placeholder {quesion}, but there is no such column (did you mean 'question'?)",
        "it has the placeholder {OPTION_A}, but there is no such column (did you mean 'option_A'?)",
    ]
    assert not list(TemplateText("{quesion}", FAITHFUL).faults(["question"], "it"))


def test_latex_json_and_doubled_braces_are_no_placeholders() -> None:
    written = (
        "\\boxed{answer} \\frac{x}{y} x^{ab} C_{max} \\begin{array}{lll} \\sqrt[n]{x} \\text {net } "
        '{"molecule": "SMILES"} {{a}} \\{set\\} {} { } {2} {:.2f}'
    )
    assert not list(TemplateText(written, TemplateMarks()).faults(["question"], "it"))


def test_a_common_beginning_cuts_no_hole() -> None:
    texts = [TemplateText(raw, TemplateMarks("</E>")) for raw in ("</E>Q {Aa} x", "</E>Q {Ab} x")]
    assert texts[0].raw[: find_common_prefix(texts)] == "</E>Q "
    assert (
        find_common_prefix([TemplateText("ab", TemplateMarks()), TemplateText("abc", TemplateMarks())]) == 2
    )
    cut = [TemplateText(raw, TemplateMarks(tokens={"q": "<Q>"})) for raw in ("x<Q>", "x<R>")]
    assert find_common_prefix(cut) == 1
