"""The fast path for instructions gives the same result as Jinja."""

from __future__ import annotations

import pytest

from assay.dialects.llmbox.instruction import build_environment, compile_instruction

VALUES = {"q": "Why?", "options": ["a", "b"], "passage": None, "zip_code": 3}
TEMPLATES = (
    "{{ q }}",
    "{{ q }}{{ '\n' + passage if passage }}",
    "{% for n, text in zip([1, 2], options) %}{{ n }}={{ text }};{% endfor %}",
    "{% set label = q | lower %}{{ label }}{% if absent is defined %}!{% endif %}",
    "{% macro shown(text) %}<{{ text }}{{ mark }}>{% endmacro %}{{ shown(q) }}",
    "{% block one %}{{ q }}{{ mark }}{% endblock %}{{ self.one() }}",
    "{{ range(zip_code) | list }} {{ dict(a=1) }} {{ lipsum is defined }}\n",
)


@pytest.mark.parametrize("text", TEMPLATES)
def test_the_short_cut_renders_as_jinja_does(text: str) -> None:
    env = build_environment()
    env.globals["mark"] = "?"
    render = compile_instruction(text, env)
    assert render(VALUES) == env.from_string(text).render(VALUES)
    # A field of the row hides a global of the same name, and leaves it as it was.
    assert render({**VALUES, "mark": "*"}) == env.from_string(text).render({**VALUES, "mark": "*"})
    assert env.globals["mark"] == "?"


def test_a_global_that_comes_later_is_seen() -> None:
    env = build_environment()
    render = compile_instruction("{{ late(q) }}", env)
    env.globals["late"] = str.upper
    assert render({"q": "why"}) == "WHY"
