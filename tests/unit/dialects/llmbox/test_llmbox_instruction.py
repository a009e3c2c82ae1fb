"""The choice between Jinja and `format` as in the original; missing fields are never printed."""

from __future__ import annotations

import re

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.dialects.llmbox.instruction import InstructionError, build_environment, compile_instruction

VALUES = {"x": "X", "y": "Y", "items": ["a", "b"], "none": None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{x}", "X"),
        ("{x!r:>5}", "  'X'"),
        ("{items[1]}", "b"),
        ("plain", "plain"),
        ("", ""),
        ("{{ 'const' }}", "{ 'const' }"),
        ("{# a comment #}{x}", "{# a comment #}X"),
        ("{{x}}", "X"),
        ("{x {{y}}", "{x Y"),
        ("{{ 'a' * 3 }}", "{ 'a' * 3 }"),
        ("{{ 'a' * 999999999 }}", "{ 'a' * 999999999 }"),
        ("{% if x %}yes{% endif %}", "yes"),
        ("{% set z = x %}", ""),
        ("{{x}}\n", "X"),
        ("{{x}}\n\n", "X\n"),
        ("{x}\n", "X\n"),
        ("  {% if x %}\n{{x}}\n{% endif %}", "  \nX\n"),
        ("{% for a, b in zip(items, items) %}{{a}}{{b}}{% endfor %}", "aabb"),
        ("{{ missing if missing }}", ""),
        ("{{ missing or 'else' }}", "else"),
        ("{{ missing is defined }}", "False"),
        ("{{ missing | default('d') }}", "d"),
        ("{{ none if none }}{{x}}", "X"),
        ("{{ x + '\\n' if x }}", "X\n"),
    ],
)
def test_the_decision_table(text: str, expected: str) -> None:
    if expected.startswith("{#"):
        # A comment alone leaves nothing to compute, and `format` then meets its braces.
        with pytest.raises(InstructionError):
            compile_instruction(text, build_environment())(VALUES)
        return
    assert compile_instruction(text, build_environment())(VALUES) == expected


@given(
    st.lists(
        st.sampled_from(
            ["{x}", "{{x}}", "{{ y }}", "text ", "{% if x %}", "{% endif %}", "{{ 'c' }}", "\n", "{# c #}"]
        ),
        max_size=6,
    )
)
def test_the_decision_is_jinjas_own(pieces: list[str]) -> None:
    """An oracle: the plain environment of Jinja, asked whether anything is computed."""
    text = "".join(pieces)
    try:
        template = jinja2.Environment().from_string(text)
        expected = template.render(VALUES) if template.debug_info else text.format_map(VALUES)
    except (jinja2.TemplateError, KeyError, ValueError, IndexError):
        with pytest.raises(InstructionError):
            compile_instruction(text, build_environment(is_lenient=True))(VALUES)
        return
    assert compile_instruction(text, build_environment(is_lenient=True))(VALUES) == expected


@pytest.mark.parametrize("text", ["{{{x}}}", "{% if x %}", "{{ x", "{x", None, 3])
def test_what_does_not_parse(text: object) -> None:
    with pytest.raises(InstructionError):
        compile_instruction(text, build_environment())(VALUES)


@pytest.mark.parametrize("text", ["{z}", "{{z}}", "{{z.a}}", "{% for a in z %}{{a}}{% endfor %}"])
def test_a_missing_name_is_reported_with_the_nearest(text: str) -> None:
    with pytest.raises(InstructionError, match=r"'z'.*did you mean 'zz'"):
        compile_instruction(text, build_environment())({"zz": 1})


def test_a_missing_name_prints_nothing_as_in_the_original() -> None:
    assert compile_instruction("a{{z}}b", build_environment(is_lenient=True))({}) == "ab"
    with pytest.raises(InstructionError):
        compile_instruction("{z}", build_environment(is_lenient=True))({})


@pytest.mark.parametrize("name", ["source", "options"])
@pytest.mark.parametrize("template", ["a {%s}", "a {{%s}}", "a {{ %s }}{% if x %}b{% endif %}"])
def test_none_is_not_printed_in_silence(name: str, template: str) -> None:
    text = template.replace("%s", name)
    values = {**VALUES, name: None}
    with pytest.raises(InstructionError, match=f"shows '{name}'"):
        compile_instruction(text, build_environment())(values)
    assert compile_instruction(text, build_environment(is_lenient=True))(values).startswith("a None")
    asks_first = "a{{ ' ' + %s if %s }}{{x}}".replace("%s", name)
    assert compile_instruction(asks_first, build_environment())(values) == "aX"
    guarded = "a{% if %s %}{{%s}}{% endif %}".replace("%s", name)
    assert compile_instruction(guarded, build_environment())(values) == "a"


def test_templates_run_in_the_sandbox() -> None:
    with pytest.raises(InstructionError, match="unsafe"):
        compile_instruction("{{ x.__class__.__mro__ }}", build_environment())(VALUES)


def test_globals_of_one_dataset_are_not_anothers() -> None:
    one, other = build_environment(), build_environment()
    one.globals["mark"] = str.upper
    assert compile_instruction("{{ mark(x) }}", one)({"x": "a"}) == "A"
    with pytest.raises(InstructionError):
        compile_instruction("{{ mark(x) }}", other)({"x": "a"})


def test_braces_in_a_jinja_instruction_are_an_error_where_the_field_exists() -> None:
    fill = compile_instruction("{x} {{y}} {other}", build_environment())
    with pytest.raises(InstructionError, match=r"\{x\} is text, not the field 'x'") as caught:
        fill(VALUES)
    assert caught.value.fix.startswith("write {{ x }}")
    # The original leaves it in the prompt.
    assert compile_instruction("{x} {{y}}", build_environment(is_lenient=True))(VALUES) == "{x} Y"


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("{{x}}\n{{ 1 / 0 }}", "its line 2: ZeroDivisionError: division by zero"),
        ("{{ x.center(10**10) }}", "its line 1: it creates more than 100,000,000 characters"),
        ("{x:>999999999}", "the width in '>999999999' creates more than"),
        ("{x:>{y}}", "ValueError"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "more than 100 deep"),
    ],
)
def test_an_instruction_that_fails_or_runs_away_is_an_error(text: str, reported: str) -> None:
    with pytest.raises(InstructionError, match=re.escape(reported)):
        compile_instruction(text, build_environment())(VALUES)
