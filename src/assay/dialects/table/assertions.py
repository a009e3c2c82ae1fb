"""Assertions of promptfoo: read from a cell or an object, checked, and filled from the row.

`scoring.assertions` evaluates them. This module rejects every assertion that it does not support, by name,
before a model is loaded.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from assay.core.assertion import RUBRIC, SET, base_type
from assay.core.errors import AuthorError, listing, suggest_name
from assay.core.javascript_regex import check_javascript
from assay.core.json_schema import check_schema
from assay.dialects.shared.template import Template, TemplateFailure, compile_template

SUPPORTED_ASSERTIONS = (
    *("equals", "contains", "icontains", "regex", "starts-with", "is-json", "contains-json", "llm-rubric"),
    *("contains-any", "contains-all", "icontains-any", "icontains-all"),
)
"""The supported assertions; each also as `not-TYPE`."""
_LISTS = ("contains-any", "contains-all", "icontains-any", "icontains-all")
_JSON = ("is-json", "contains-json")
_UNSUPPORTED = (
    *("javascript", "python", "ruby", "webhook", "similar", "latency", "cost", "levenshtein", "perplexity"),
    *("perplexity-score", "rouge-n", "bleu", "gleu", "meteor", "is-html", "contains-html", "is-sql"),
    *("contains-sql", "is-xml", "contains-xml", "is-refusal", "word-count", "finish-reason", "classifier"),
    *("moderation", "g-eval", "answer-relevance", "context-faithfulness", "context-recall", "guardrails"),
    *("context-relevance", "conversation-relevance", "factuality", "model-graded-closedqa", "pi", "human"),
    *("model-graded-factuality", "select-best", "max-score", "is-valid-function-call", "tool-call-f1"),
    *("is-valid-openai-function-call", "is-valid-openai-tools-call", "skill-used", "trace-span-count"),
    *("trace-span-duration", "trace-error-spans", "trajectory", "file"),
)
_KNOWN = frozenset({*SUPPORTED_ASSERTIONS, *_UNSUPPORTED})
_ALIASES = {"grade": RUBRIC, "fn": "javascript", "eval": "javascript"}
_CELL = re.compile(
    r"(?P<type>[A-Za-z][A-Za-z-]*)\s*(?:\((?P<threshold>[^()]*)\))?\s*(?::(?P<value>.*))?", re.DOTALL
)
_KEYS = frozenset({"type", "value", "weight", "metric", "threshold", "provider"})
_SET_KEYS = frozenset({"type", "assert", "weight", "metric", "threshold"})


class BadAssertion(ValueError):
    """An unsupported or invalid assertion; the message names it and the reason."""


def read_assertion_cell(text: str) -> dict[str, Any]:
    """Return the assertion in a cell: `type: value`, or a text that the reply must equal."""
    text = text.strip()
    match = _CELL.fullmatch(text)
    name = "" if match is None else match["type"]
    base = name.removeprefix("not-")
    kind = _ALIASES.get(base, base)
    if match is None or kind not in _KNOWN:
        _reject_near_miss(name, text, has_colon=match is not None and match["value"] is not None)
        return {"type": "equals", "value": text}
    if match["value"] is None and kind not in _JSON and kind not in _UNSUPPORTED:
        return {"type": "equals", "value": text}
    if text[len(name) :][:1].isspace() and ":" in text:
        raise BadAssertion(f"{text!r:.60} has a space before the colon; write {name + ':'!r}")
    value: Any = (match["value"] or "").strip()
    if kind in _LISTS:
        value = _split_values(value)
    return check_assertion({"type": name.replace(base, kind), "value": value})


def read_assertion_object(assertion: Any) -> dict[str, Any]:
    """Return an assertion that is written as an object. An `assert-set` contains other assertions."""
    if not isinstance(assertion, Mapping) or not isinstance(assertion.get("type"), str):
        raise BadAssertion(f"found {assertion!r:.80}, expected an object with 'type'")
    is_set = assertion["type"] == SET
    for key, value in assertion.items():
        if key not in (_SET_KEYS if is_set else _KEYS) and value is not None:
            raise BadAssertion(f"the assertion {assertion['type']!r} has {key!r}, which is not supported")
    for key in ("weight", "threshold"):
        number = assertion.get(key)
        if number is not None and (isinstance(number, bool) or not isinstance(number, int | float)):
            raise BadAssertion(
                f"{key!r} of the assertion {assertion['type']!r} is {number!r}, expected a number"
            )
    made = {
        key: assertion[key] for key in ("type", "value", "weight", "metric") if assertion.get(key) is not None
    }
    if is_set:
        inner = assertion.get("assert")
        if not isinstance(inner, list) or not inner:
            raise BadAssertion("an assert-set needs a list 'assert' with at least one assertion")
        made["assert"] = [read_assertion_object(one) for one in inner]
        if assertion.get("threshold") is not None:
            made["threshold"] = assertion["threshold"]
        return made
    return check_assertion(made)


def check_assertion(assertion: dict[str, Any]) -> dict[str, Any]:
    """Return an assertion with a normalised value; raise BadAssertion if it has none."""
    base = base_type(assertion)
    if base not in SUPPORTED_ASSERTIONS:
        known = listing(SUPPORTED_ASSERTIONS, at_most=20)
        hint = suggest_name(base, SUPPORTED_ASSERTIONS)
        raise BadAssertion(f"the assertion {assertion['type']!r} is not supported{hint}; supported: {known}")
    value = assertion.get("value")
    if isinstance(value, str) and value.startswith("file://"):
        raise BadAssertion(
            f"the value of {assertion['type']!r} is in the file {value!r}; copy it into the row"
        )
    if base in _LISTS:
        value = _split_values(value) if isinstance(value, str) else value
        if not isinstance(value, list) or not value:
            raise BadAssertion(f"{assertion['type']!r} needs values separated by commas")
        return {**assertion, "value": [_to_javascript_text(one) for one in value]}
    if base in _JSON:
        return {**assertion, "value": _schema(value)} if value not in (None, "") else drop_value(assertion)
    if base == "equals":
        return assertion if "value" in assertion else {**assertion, "value": ""}
    if value in (None, "") or isinstance(value, list | dict):
        raise BadAssertion(f"{assertion['type']!r} needs a text value, found {value!r:.60}")
    return {**assertion, "value": _to_javascript_text(value)}


def fill_assertion(assertion: dict[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return an assertion with `{{names}}` filled from a row; raise BadAssertion for an unknown name."""
    if "assert" in assertion:
        return {**assertion, "assert": [fill_assertion(one, row) for one in assertion["assert"]]}
    value = assertion.get("value")
    if value is None or (type(value) is str and not _has_holes(value)):
        return assertion
    return {**assertion, "value": _fill_value(value, row)}


def check_pattern(assertion: dict[str, Any]) -> dict[str, Any]:
    """Return a filled assertion; raise BadAssertion if its pattern is not a regular expression."""
    for one in assertion.get("assert", ()):
        check_pattern(one)
    if base_type(assertion) == "regex":
        try:
            check_javascript(assertion["value"])
        except ValueError as error:
            raise BadAssertion(f"the pattern {assertion['value']!r:.80}: {error}") from None
    return assertion


def find_variables(assertion: Mapping[str, Any]) -> frozenset[str]:
    """Return the variables that an assertion uses as `{{name}}`."""
    inner = [find_variables(one) for one in assertion.get("assert", ())]
    texts = [text for text in _texts(assertion.get("value")) if _has_holes(text)]
    return frozenset().union(*inner, *(_template(text).fields for text in texts))


def drop_value(assertion: dict[str, Any]) -> dict[str, Any]:
    """Return an assertion without its value."""
    return {key: value for key, value in assertion.items() if key != "value"}


def _reject_near_miss(name: str, text: str, *, has_colon: bool) -> None:
    """Raise if a text looks like a misspelt assertion, which would be compared literally and always fail."""
    if not has_colon:
        return
    known = (*SUPPORTED_ASSERTIONS, *_UNSUPPORTED, *_ALIASES, *(f"not-{one}" for one in SUPPORTED_ASSERTIONS))
    hint = " (in lower case)" if name.lower() in known else suggest_name(name, known)
    if hint or "-" in name:
        raise BadAssertion(
            f"{name!r} is not a known assertion{hint}; to compare the whole reply with a text, write "
            f"{'equals: ' + text!r:.80}"
        )


def _split_values(text: str) -> list[str]:
    """Return the values separated by commas; a quoted value may contain commas."""
    (row,) = csv.reader([text.replace("\n", " ")], skipinitialspace=True) if text.strip() else ([],)
    return [value.strip() for value in row if value.strip()]


def _schema(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise BadAssertion(f"the JSON schema {value!r:.60} is not JSON") from None
    try:
        check_schema(value)
    except ValueError as error:
        raise BadAssertion(str(error)) from None
    return value


def _to_javascript_text(value: Any) -> str:
    """Return a value as JavaScript prints it."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, ensure_ascii=False)


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return [text for one in inner for text in _texts(one)]


def _fill_value(value: Any, row: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_fill_value(one, row) for one in value]
    if isinstance(value, Mapping):
        return {key: _fill_value(one, row) for key, one in value.items()}
    if not isinstance(value, str) or not _has_holes(value):
        return value
    try:
        return _template(value).render(row)
    except (TemplateFailure, AuthorError) as error:
        raise BadAssertion(f"{value!r:.80} cannot be filled from the row: {error}") from None


def _has_holes(text: str) -> bool:
    return "{{" in text or "{%" in text


@lru_cache(maxsize=1024)
def _template(text: str) -> Template:
    return compile_template(text, None, "the assertion")
