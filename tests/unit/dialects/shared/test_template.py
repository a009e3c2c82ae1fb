from __future__ import annotations

import pytest

from assay.core.errors import AuthorError
from assay.dialects.shared.template import TemplateFailure, compile_template, get_field


@pytest.mark.parametrize(
    ("template", "fields", "text"),
    [
        ("Q: {q}\nA:", {"q"}, "Q: 1+1\nA:"),
        ("{q} and {q}", {"q"}, "1+1 and 1+1"),
        ("Put it in \\boxed{}.", set(), "Put it in \\boxed{}."),
        ("\\frac{a}{b} of {q}", {"q"}, "\\frac{a}{b} of 1+1"),
        ('{"key": 1} {q}', {"q"}, '{"key": 1} 1+1'),
        ("{inner.deep}", {"inner.deep"}, "x"),
        ("{my question}", {"my question"}, "spaced"),
        ("{{ q }}!", {"q"}, "1+1!"),
        ("{% if q %}yes{% endif %}\n", {"q"}, "yes\n"),
        ("{{ inner.deep }}", {"inner"}, "x"),
    ],
)
def test_fields_and_rendering(template: str, fields: set[str], text: str) -> None:
    compiled = compile_template(template)
    assert compiled.fields == fields
    assert compiled.render({"q": "1+1", "inner": {"deep": "x"}, "my question": "spaced"}) == text


def test_a_value_with_braces_is_not_filled_again() -> None:
    assert compile_template("{q} {gold}").render({"q": "{gold}", "gold": "42"}) == "{gold} 42"


def test_values_that_are_not_text_are_written_out() -> None:
    assert compile_template("{n}").render({"n": 3}) == "3"


def test_jinja_runs_in_the_sandbox() -> None:
    template = compile_template("{{ q.__class__.__mro__ }}")
    with pytest.raises(TemplateFailure):
        template.render({"q": "x"})


def test_a_broken_jinja_template_says_where() -> None:
    with pytest.raises(AuthorError, match=r"TEMPLATE-001.*template line 2"):
        compile_template("fine\n{{ broken")


def test_an_undefined_name_inside_a_jinja_loop_is_an_error() -> None:
    with pytest.raises(TemplateFailure, match="nope"):
        compile_template("{% for x in [1] %}{{ nope }}{% endfor %}").render({})


def test_field_prefers_the_whole_name() -> None:
    assert get_field({"a.b": 1, "a": {"b": 2}}, "a.b") == 1
    assert get_field({"a": {"b": 2}}, "a.b") == 2
    with pytest.raises(KeyError):
        get_field({"a": {"b": 2}}, "a.c")


@pytest.mark.parametrize(
    ("template", "reported", "is_limit"),
    [
        ("a\n{{ 1 / 0 }}", "'human_prompt', line 2: ZeroDivisionError: division by zero", False),
        ("{{ ''|xmlattr }}", "'human_prompt', line 1: AttributeError", False),
        (
            "{{ 'a' * 999999999 }}",
            "'human_prompt', line 1: it creates more than 100,000,000 characters",
            True,
        ),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "calls are nested more than 100 deep", True),
    ],
)
def test_whatever_a_template_raises_is_one_error(template: str, reported: str, is_limit: bool) -> None:
    with pytest.raises(TemplateFailure) as caught:
        compile_template(template, None, "'human_prompt'").render({})
    assert reported in str(caught.value)
    assert caught.value.is_limit == is_limit


def test_a_template_that_cannot_be_compiled_is_an_error() -> None:
    with pytest.raises(AuthorError, match=r"TEMPLATE-002.*nested too deeply"):
        compile_template("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}")


def test_a_field_that_is_repeated_without_end_is_bounded() -> None:
    template = compile_template("{q}" * 50_000)
    assert len(template.render({"q": "abc"})) == 150_000
    with pytest.raises(TemplateFailure, match="100,000,000"):
        template.render({"q": "x" * 1_000_000})


def test_braces_in_a_jinja_template_are_listed() -> None:
    template = compile_template("Q: {q}{% for x in [1] %}{inner.deep}{{ '{not}' }}\\frac{a}{b}{% endfor %}")
    assert template.literals == {"q", "inner.deep"}
    assert compile_template("{q}").literals == frozenset()
