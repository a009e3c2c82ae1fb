"""A gate's outcome for CI systems: JUnit XML and annotations of GitHub Actions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from assay.results.comparison import Flips, RunComparison
from assay.results.comparison_words import format_flip_answer, shorten_answer
from assay.results.gate import Gate, GateCheck
from assay.results.gate_words import describe_check, describe_gate, format_check_name

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that an XML 1.0 document cannot contain, not even escaped."""


def render_junit(gate: Gate, comparison: RunComparison, flips: Sequence[Flips]) -> bytes:
    """Return a gate as JUnit XML: one test case for each check."""
    counts = {"tests": str(len(gate.checks)), "failures": str(len(gate.failing)), "errors": "0"}
    root = ElementTree.Element("testsuites", {"name": "assay gate", **counts})
    base, *others = comparison.sides
    name = _clean(f"{', '.join(side.name for side in others)} against {base.name}, fail if {gate.rule}")
    suite = ElementTree.SubElement(root, "testsuite", {"name": name, **counts, "skipped": "0"})
    for one in gate.checks:
        names = {"classname": _clean(one.compared.task), "name": _clean(format_check_name(one))}
        case = ElementTree.SubElement(suite, "testcase", names)
        text = _clean("\n".join((describe_check(one), *_describe_flips(one, flips))))
        if one.is_failing:
            attributes = {"type": str(one.verdict), "message": _clean(describe_check(one))}
            ElementTree.SubElement(case, "failure", attributes).text = text
        else:
            ElementTree.SubElement(case, "system-out").text = text
    ElementTree.indent(root, " ")
    content: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return content + b"\n"


def _describe_flips(check: GateCheck, flips: Sequence[Flips]) -> Iterator[str]:
    """Yield the samples that were right before and are wrong now."""
    compared = check.compared
    key = (compared.task, compared.method, compared.metric, (compared.first, compared.second))
    for one in flips:
        if compared.group is None and (one.task, one.method, one.metric, one.sides) == key:
            for flip in one.only_first:
                yield (
                    f"right before, wrong now: {flip.sample_id}: {flip.question} "
                    f"(before {format_flip_answer(flip.first)}, now {format_flip_answer(flip.second)}, "
                    f"right {shorten_answer(flip.first.target or flip.second.target) or 'unknown'})"
                )


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def build_annotations(gate: Gate) -> list[str]:
    """Return a gate as workflow commands of GitHub Actions, one line each."""
    lines = [
        _build_annotation("error", f"Assay gate: {format_check_name(one)}", describe_check(one))
        for one in gate.failing
    ]
    return lines or [_build_annotation("notice", "Assay gate", describe_gate(gate))]


def _build_annotation(level: str, title: str, message: str) -> str:
    escaped = _escape(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={escaped}::{_escape(message)}"


def _escape(text: str) -> str:
    """Escape what would end a workflow command, or begin another one."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
