"""Assertions about replies. The verdicts are those of promptfoo 0.121.20, unless a comment says otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.assertion import RUBRIC
from assay.dialects.table.assertions import (
    SUPPORTED_ASSERTIONS,
    BadAssertion,
    check_pattern,
    fill_assertion,
    read_assertion_cell,
    read_assertion_object,
)
from assay.scoring.originals.promptfoo.assertions import _CHECKS, decide, is_assertion_met

CELLS = [
    ("contains:Paris", "Paris", True),
    ("contains:  Paris  ", "Paris", True),
    ("icontains:PARIS", "paris x", True),
    ("contains-any: x, b", "a b", True),
    ('contains-any: "x, b",z', "a b", False),
    ('contains-all: "x, b"', "x, b!", True),
    ("icontains-any: a,z", "A b", True),
    ("icontains-all: a,B", "A b", True),
    ("contains-all: a,b", "A b", False),
    ("contains-any: A,,b", "b", True),
    ("is-json", "{}", True),
    ("is-json", "[1,2]", True),
    ("is-json", "3", True),
    ("is-json", "null", True),
    ("is-json", "x", False),
    ("is-json", "```json\n{}\n```", False),
    ("is-json", "{'a':1}", False),
    ("is-json", "{a:1}", False),
    ("is-json", '{"a":1,}', False),
    ("is-json", "", False),
    ('is-json: {"type":"object","required":["b"]}', '{"a":1}', False),
    ('is-json:{"type":"object","required":["a"]}', '{"a":1}', True),
    ("contains-json", 'text {"a":1} more', True),
    ("contains-json", "text [1] more", False),
    ("contains-json", "text 3 more", False),
    ("contains-json", "none", False),
    ('contains-json: {"type":"object","required":["b"]}', 'x {"a":1} y {"b":2}', True),
    # promptfoo repairs such texts, and takes them for JSON.
    ("contains-json", "text {a:1}", False),
    ("contains-json", 'x {"a": y', False),
    ("regex: ^\\d+$", "2024", True),
    ("regex: ^12$", "x\n12\ny", False),
    ("regex: paris", "Paris", False),
    ("regex:/paris/i", "Paris", False),
    ("starts-with: The", "The answer", True),
    ("starts-with: The", "the answer", False),
    ("not-contains: x", "Paris", True),
    ("not-equals: Paris", "Paris", False),
    ("not-is-json", "Paris", True),
    ("not-icontains-any: x,paris", "Paris", False),
    ("not-starts-with: P", "Paris", False),
    ("not-regex: ^P", "Paris", False),
    ("not-contains-json", "x", True),
    ("equals: 30", "30", True),
    ("30", "30", True),
    ('{"a":1}', '{"a": 1}', False),
    ("foo: bar", "foo: bar", True),
    (" contains: x", "x", True),
    (" x ", "x", True),
    ("contains(0.5): b", "abc", True),
    ("contains:x:y", "x:y", True),
    ("contains: multi\nline", "multi\nline", True),
    ("icontains: ärger", "Ärger", True),
    ("icontains: straße", "STRASSE", False),
    ("contains: {{q}} hi", "Q hi", True),
    ("equals: {{ q | lower }}{{q}}", "qQ", True),
    ("regex: {{q}}", "Q", True),
    ("contains-any: {{q}},z", "Q", True),
]


@pytest.mark.parametrize(("cell", "reply", "holds"), CELLS)
def test_a_cell_accepts_what_promptfoo_accepts(cell: str, reply: str, holds: bool) -> None:
    assert is_assertion_met(fill_assertion(read_assertion_cell(cell), {"q": "Q"}), reply) is holds


@pytest.mark.parametrize(
    ("assertion", "reply", "holds"),
    [
        ({"type": "equals", "value": {"b": [1, 2], "a": 1}}, '{"a": 1, "b": [1,2]}', True),
        ({"type": "equals", "value": {"a": 1}}, "x", False),
        ({"type": "equals", "value": {"a": 1}}, '{"a": true}', False),
        ({"type": "equals", "value": 30}, "30", True),
        ({"type": "equals", "value": 30}, "30.0", False),
        ({"type": "equals", "value": True}, "true", True),
        ({"type": "contains", "value": 0}, "x 0", True),
        ({"type": "contains-any", "value": [0, 5]}, "x 0", True),
        ({"type": "contains-all", "value": ["1,000"]}, "1,000", True),
        ({"type": "contains-any", "value": "a,c"}, "c", True),
        ({"type": "is-json", "value": {"type": "number", "minimum": 6}}, "5", False),
        ({"type": "is-json", "value": {"type": "object", "additionalProperties": False}}, '{"a":1}', False),
        ({"type": "is-json", "value": {"properties": {"a": {"type": "integer"}}}}, '{"a":1.0}', True),
        ({"type": "regex", "value": "^\\w\\d$"}, "é1", False),
        ({"type": "regex", "value": "\\d"}, "٣", False),
        ({"type": "regex", "value": "(?<x>a)\\s\\S"}, "a b", True),
        ({"type": "regex", "value": "\\ba"}, "éa", True),
        ({"type": "regex", "value": "a\\sb"}, "a\u00a0b", True),
        ({"type": "regex", "value": "[\\w$]+[^]o$"}, "hell\no", True),
        # As JavaScript itself has it.
        ({"type": "regex", "value": "o$"}, "hello\n", False),
    ],
)
def test_an_object_accepts_what_promptfoo_accepts(assertion: Any, reply: str, holds: bool) -> None:
    assert is_assertion_met(fill_assertion(read_assertion_object(assertion), {}), reply) is holds


def contains(value: str, **message: Any) -> dict[str, Any]:
    return {"type": "contains", "value": value, **message}


GROUP = {"type": "assert-set", "assert": [contains("hello"), contains("zz")]}


@pytest.mark.parametrize(
    ("assertions", "threshold", "is_passed", "score"),
    [
        ([contains("zz", weight=2), contains("world")], None, False, 1 / 3),
        ([contains("zz", weight=2), contains("world")], 0.3, True, 1 / 3),
        ([contains("zz", weight=2), contains("world")], 0.34, False, 1 / 3),
        ([contains("zz", weight=0), contains("world")], None, True, 1.0),
        ([contains("zz", weight=0)], None, True, 0.0),
        ([contains("zz")], 0, True, 0.0),
        ([{**GROUP, "threshold": 0.5}], None, True, 0.5),
        ([GROUP], None, False, 0.5),
        ([{**GROUP, "threshold": 0.5, "weight": 3}, contains("zz")], 0.37, True, 0.375),
    ],
)
def test_several_assertions_count_as_in_promptfoo(
    assertions: Any, threshold: float | None, is_passed: bool, score: float
) -> None:
    result = decide(assertions, threshold, lambda one: is_assertion_met(one, "hello world"))
    assert result.is_passed is is_passed
    assert result.score == pytest.approx(score)


@pytest.mark.parametrize(
    ("cell", "word"),
    [
        ("javascript: output.length < 10", "'javascript'"),
        ("fn: output.includes('x')", "'javascript'"),
        ("python: len(output) > 3", "'python'"),
        ("similar(0.8): hello", "'similar'"),
        ("not-levenshtein(3): x", "'not-levenshtein'"),
        ("latency", "'latency'"),
        ("word-count: 3", "'word-count'"),
        ("file://check.js", "'file'"),
        ("Contains: foo", "in lower case"),
        ("contain: foo", "did you mean 'contains'"),
        ("ends-with: foo", "not a known assertion"),
        ("contains : foo", "space before the colon"),
        ("contains:", "needs a text"),
        ("contains-any:", "needs values"),
        ("regex: (?i)paris", "no inline flags"),
        ("regex: [", "not a regular expression"),
        ("equals: {{nosuch}}zz", "nosuch"),
        ('is-json: {"$ref": "#/x"}', "'$ref'"),
        ("is-json: {broken", "not JSON"),
    ],
)
def test_what_cannot_be_decided_is_rejected_by_name(cell: str, word: str) -> None:
    with pytest.raises(BadAssertion) as error:
        check_pattern(fill_assertion(read_assertion_cell(cell), {"q": "Q"}))
    assert word in str(error.value)


@pytest.mark.parametrize(
    ("assertion", "word"),
    [
        ("contains: x", "an object with 'type'"),
        ({"type": "contains", "value": ["a"]}, "needs a text"),
        ({"type": "contains", "value": "a", "transform": "output.trim()"}, "'transform'"),
        ({"type": "contains", "value": "a", "weight": "2"}, "'weight'"),
        ({"type": "contains", "value": "file://x.txt"}, "file://x.txt"),
        ({"type": "assert-set", "assert": []}, "at least one assertion"),
        ({"type": "cost", "threshold": 1}, "'cost'"),
    ],
)
def test_an_object_that_cannot_be_decided_is_rejected(assertion: Any, word: str) -> None:
    with pytest.raises(BadAssertion) as error:
        read_assertion_object(assertion)
    assert word in str(error.value)


def test_what_is_read_is_what_can_be_decided() -> None:
    assert set(SUPPORTED_ASSERTIONS) == {*_CHECKS, RUBRIC}
