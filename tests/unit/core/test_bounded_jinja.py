"""No template takes a process with it: what it does is bounded, and what it raises is one kind of error."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import pytest
from jinja2 import StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from assay.core.bounded_jinja import (
    MAX_SOURCE,
    BoundedEnvironment,
    BoundedImmutableEnvironment,
    JinjaFailure,
    compile_jinja,
    render_jinja,
)

VALUES = {"q": "What?", "choices": ["one", "two", "three"], "row": {"a": {"b": 1}}}
DOUBLED = (
    "{% set ns = namespace(x=%START) %}{% for i in range(60) %}{% set ns.x = %STEP %}{% endfor %}{{ ns.x }}"
)


def doubled(start: str, step: str) -> str:
    return DOUBLED.replace("%START", start).replace("%STEP", step)


RUNAWAYS = [
    # loops
    "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "{% for c in 'a' * 90000000 %}{% endfor %}",
    "{% for i in [1, 2, 3, 4, 5, 6, 7, 8, 9] recursive %}"
    "{{ loop([1, 2, 3, 4, 5, 6, 7, 8, 9]) if loop.depth < 12 }}{% endfor %}",
    # recursion
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "{% macro f() %}{{ g() }}{% endmacro %}{% macro g() %}{{ f() }}{% endmacro %}{{ f() }}",
    "{% block a %}{{ self.a() }}{% endblock %}",
    # one value of many characters
    "{{ 'a' * 999999999 }}",
    "{{ 999999999 * 'a' }}",
    "{{ q * 999999999 }}",
    "{{ [0] * 10**9 }}",
    "{{ ('a', 'b') * 10**9 }}",
    "{{ 'a'.encode() * 10**10 }}",
    "{{ 'a'|center(10**10) }}",
    "{{ 'a'.center(10**10) }}",
    "{{ 'a'.ljust(10**10) }}",
    "{{ 'a'.rjust(10**10) }}",
    "{{ 'a'.zfill(10**10) }}",
    "{{ 'a\tb'.expandtabs(10**10) }}",
    "{{ (1).to_bytes(10**9, 'big') }}",
    "{{ 'x'|indent(10**9, first=True) }}",
    "{{ ('a' * 1000000).replace('', 'b' * 1000) }}",
    "{{ ('a' * 1000000)|replace('a', 'b' * 1000) }}",
    "{{ ('b' * 1000000).join(['a'] * 1000) }}",
    "{{ (['a'] * 1000)|join('b' * 1000000) }}",
    "{{ range(100000)|map('string')|join('b' * 100000) }}",
    "{{ range(100000)|map('string')|map('center', 100000)|join }}",
    "{{ ('a' * 1000000).translate({97: 'b' * 1000000}) }}",
    "{{ '%999999999d' % 1 }}",
    "{{ '%*d' % (999999999, 1) }}",
    "{{ '%.999999999f' % 1 }}",
    "{{ '%999999999d'|format(1) }}",
    "{{ '%999999999s'|format('a') }}",
    "{% set t = 'a' * 90000000 %}{% set u = t + t + t + t + t + t %}",
    "{% set t = 'a' * 90000000 %}{% set u = t ~ t ~ t ~ t ~ t ~ t %}",
    "{% set t = 'a' * 90000000 %}{% set u = [t, t]|join(t) %}",
    "{% for i in range(20000) %}{{ ('a' * 400)|replace('a', 'b' * 500) }}{% endfor %}",
    "{% for i in range(99999) %}{% set t = q|trim|upper|lower|capitalize|string %}{% endfor %}",
    "{{ '{:>999999999}'.format('a') }}",
    "{{ '{:{w}}'.format('a', w=999999999) }}",
    "{{ '{0:{1}}'.format('a', 999999999) }}",
    "{{ '{a:>999999999}'.format_map({'a': 1}) }}",
    "{{ [1]|batch(10**9, 'x')|list }}",
    "{{ [1]|slice(10**9)|list }}",
    "{{ [1]|tojson(indent=10**9) }}",
    "{{ lipsum(n=100000) }}",
    "{{ lipsum(n=1, min=10**8, max=10**9) }}",
    # many values
    "{% for i in range(100000) %}{{ 'a'|center(100000) }}{% endfor %}",
    "{% set t = 'a' * 1000000 %}{% for i in range(1000) %}{{ t }}{% endfor %}",
    "{% set t = 'a' * 1000000 %}{% for i in range(100000) %}{% set u = t ~ t %}{% endfor %}",
    doubled("'aa'", "ns.x + ns.x"),
    doubled("'aa'", "ns.x ~ ns.x"),
    doubled("'aa'", "'%s%s' % (ns.x, ns.x)"),
    doubled("['aa']", "ns.x + ns.x"),
    doubled("['aa']", "[ns.x, ns.x]"),
    doubled("['aa']", "(ns.x, ns.x)"),
    doubled("['aa']", "{'a': ns.x, 'b': ns.x}"),
    doubled("['aa']", "dict(a=ns.x, b=ns.x)"),
    doubled("['aa']", "namespace(a=ns.x, b=ns.x)"),
    "{% set l = [1] %}{% for i in range(60) %}{% set _ = l.extend(l) %}{% endfor %}{{ l }}",
    "{% set l = [1] %}{% set _ = l.append(l) %}{{ l }}",
    # arithmetic
    "{{ (10 ** 99999) ** 99999 }}",
    doubled("3", "ns.x * ns.x"),
    "{{ 1|round(10**8, 'ceil') }}",
    # filters that take quadratic time
    "{{ ('<!---->' * 1000000)|striptags }}",
    "{{ ('a@' * 1000000)|urlize }}",
    "{{ ('a ' * 1000000)|wordwrap(1) }}",
]


def rendered(text: str, values: Mapping[str, object] = VALUES) -> str:
    environment = BoundedEnvironment(undefined=StrictUndefined)
    environment.globals["zip"] = zip
    return render_jinja(compile_jinja(environment, text), values)


@pytest.mark.parametrize("text", RUNAWAYS)
def test_a_template_that_runs_away_ends_by_a_limit(text: str) -> None:
    with pytest.raises(JinjaFailure) as caught:
        rendered(text)
    assert caught.value.is_limit
    assert "longer than" not in str(caught.value), "the clock must not be what ends it"


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        ("a\n{{ 1 / 0 }}", "ZeroDivisionError: division by zero", 2),
        ("{{ ''|xmlattr }}", "AttributeError: 'str' object has no attribute 'items'", 1),
        ("\n\n{% for i in range(10**9) %}{% endfor %}", "OverflowError: Range too big", 3),
        ("{{ row.a.b.c.d }}", "'int object' has no attribute 'c'", 1),
        ("{{ nope }}", "'nope' is undefined", 1),
        ("{{ q + 1 }}", "TypeError", 1),
        ("{{ q[1:]['x'] }}", "'str object' has no attribute 'x'", 1),
        ("{% macro m() %}\n{{ 1 / 0 }}{% endmacro %}\n{{ m() }}", "ZeroDivisionError", 2),
        ("{% include 'x' %}", "TypeError: no loader", 1),
        ("{{ q.__class__.__mro__ }}", "unsafe", 1),
        ("{{ q|tojson(indent='x', nope=1) }}", "TypeError", 1),
        ("{{ {[]: 1} }}", "unhashable type", 1),
    ],
)
def test_whatever_is_raised_inside_is_one_error_with_the_line(text: str, what: str, line: int) -> None:
    with pytest.raises(JinjaFailure) as caught:
        rendered(text)
    assert what in caught.value.what
    assert caught.value.line == line
    assert not caught.value.is_limit


@pytest.mark.parametrize(
    "text",
    [
        "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
        "{% for i in [1] %}" * 40 + "x" + "{% endfor %}" * 40,
        "{{ 'x'|nope }}",
        "{{ broken",
        "x" * (MAX_SOURCE + 1),
    ],
    ids=["brackets", "loops", "filter", "syntax", "size"],
)
def test_a_template_that_does_not_compile_is_the_same_error(text: str) -> None:
    with pytest.raises(JinjaFailure):
        rendered(text)


ORDINARY = [
    "{% for c in choices %}{{ loop.index }}/{{ loop.length }} {{ c }}{{ ',' if not loop.last }}{% endfor %}",
    "{% macro m(a, b=2) %}{{ a }}-{{ b }}{% endmacro %}{{ m(1) }}",
    "{% macro m(a) %}{{ a }}-{{ caller() }}{% endmacro %}{% call m(3) %}x{% endcall %}",
    "{{ choices|map('upper')|join(', ') }} {{ choices|length }} {{ choices[::-1] }} {{ choices }}",
    "{% set n = namespace(n=0) %}{% for c in choices %}{% set n.n = n.n + c|length %}{% endfor %}{{ n.n }}",
    "{{ 'a' ~ 1 ~ q }} {{ 'ab' * 2 }} {{ '%s-%03d' % (q, 7) }} {{ '{:>6}'.format('x') }}",
    "{{ 2 ** 10 }} {{ 7 % 4 }} {{ 7 // 2 }} {{ 2 ** -1 }} {{ 1.5 * 2 }} {{ 3 - 1 }}",
    "{% for a, b in zip(choices, 'ABC') %}{{ b }}. {{ a|indent(2) }}\n{% endfor %}",
    "{% filter upper %}{{ q }}{% endfilter %}{% set t %}x{{ q }}{% endset %}{{ t|center(20) }}",
    "{{ row|tojson(indent=2) }} {{ row.a['b'] }} {{ {'a': [1, (2, 3)]} }} {{ (1, 2) }}",
    "{% for k, v in row.items() %}{{ k }}={{ v }}{% endfor %}{{ choices|batch(2)|list }}{{ q|wordwrap(3) }}",
    "{% for x in [[1, [2]], 3] recursive %}{{ loop(x) if x is iterable else x }}{% endfor %}",
    "{{ '<b>x</b>'|striptags }} {{ 'http://a.b'|urlize }} {{ '<'|e }} {{ [3, 1]|sort }} {{ [1, 2]|sum }}",
    "{% set l = [] %}{% for c in choices %}{% set _ = l.append(c) %}{% endfor %}{{ l|join }}",
    "{{ 'a' + q + 'b' }} {{ 1 + 2 + 3.5 }} {{ [1] + [2] + choices }} {{ 'a' + ('b' + q) }}",
    "{{ ('<'|e) + '<' + q }} {{ ('<'|e) ~ '<' }} {{ 1 ~ none ~ 2.5 ~ choices ~ q }} {{ 'a' ~ 'b' }}",
    "{{ ' Ab '|trim }}{{ 'xAx'|trim('x') }}{{ 'aB'|upper|lower|capitalize }}{{ q|string|count }}",
    "{{ choices|join }}{{ choices|join(', ') }}{{ [1, 'a', none]|join('-') }}{{ [row.a]|join('/', 'b') }}",
    "{{ choices|join(attribute='upper') is string }}{{ (['<']|map('e')|list)|join('<') }}",
    "{% for c in choices %}{{ c.upper().replace('O', q).split('?')[0] }}{% endfor %}{{ 'abc'|join('-') }}",
    "{% autoescape true %}{{ '<' + q }}{{ '<' ~ q }}{{ ['<', q]|join('<') }}{{ [1] }}{% endautoescape %}",
    "{{ true }}{{ none }}{{ 1 }}{{ 2.5 }}{{ {'a': 1} }}{{ ('<b>'|e) }}",
    "{{ 1.5|round(1) }} {{ -3|abs }} {{ nope|default('d') }} {{ q if q else 'n' }} {{ 3 in [3] }}",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_an_ordinary_template_renders_as_in_jinjas_own_sandbox(text: str) -> None:
    own = SandboxedEnvironment(undefined=StrictUndefined)
    own.globals["zip"] = zip
    assert rendered(text) == own.from_string(text).render(VALUES)


def test_the_bounds_hold_in_a_thread_and_are_each_renderings_own() -> None:
    text = "{% for i in range(99999) %}{{ i }}{% endfor %}"
    assert len(rendered(text)) == len(rendered(text)), "the second has a budget of its own"
    ended: list[bool] = []

    def run() -> None:
        try:
            rendered(RUNAWAYS[0])
        except JinjaFailure as error:
            ended.append(error.is_limit)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert ended == [True]


def test_a_long_list_is_counted_once() -> None:
    assert rendered("{{ (range(60000)|list|string)|length > 0 }}{{ [1] * 60000 == 1 }}") == "TrueFalse"
    assert rendered("{{ numbers }}", {"numbers": list(range(200_000))}).endswith("199999]")


def test_a_long_cell_passes() -> None:
    assert len(rendered("{{ q|trim }}", {"q": "x" * 20_000_000})) == 20_000_000


def test_the_immutable_sandbox_changes_nothing_that_it_is_given() -> None:
    template = compile_jinja(BoundedImmutableEnvironment(), "{{ choices.append(1) }}")
    with pytest.raises(JinjaFailure, match="unsafe"):
        render_jinja(template, VALUES)
