"""Results as static HTML for notebooks: no scripts, no external resources, readable on light and dark pages.

Text takes the page's own colour. Lines and bars are half transparent, so that they show on any background.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from assay.app.compare import ComparisonWithFlips
from assay.core.run import RunManifest
from assay.core.score import Metric
from assay.core.text_preview import shorten_text
from assay.results.comparison import Flip, MetricComparison
from assay.results.comparison_words import (
    describe_difference,
    format_compared_label,
    format_compared_method,
    format_difference,
    format_difference_interval,
    format_p,
    format_side_letter,
    format_side_value,
)
from assay.results.rows import format_metric_interval, format_metric_method, format_metric_value

if TYPE_CHECKING:
    from assay.app.api.samples import Answer, SampleResult, Samples

_N_WRONG = 5
_CELL_CHARS = 240
_BAR = 160
"""Width of a bar in pixels."""
_LINE = "1px solid rgba(128,128,128,.35)"
_CELL = f"padding:.25em .7em;border-bottom:{_LINE};text-align:left;vertical-align:top"
_NUMBER = f"{_CELL};font-variant-numeric:tabular-nums;white-space:nowrap"
_TEXT = f"{_CELL};white-space:pre-wrap;overflow-wrap:anywhere;max-width:26em"
_MUTED = "opacity:.7;font-size:.9em"


def render_result(
    manifest: RunManifest, metrics: Sequence[Metric], headlines: Sequence[Metric], samples: Samples
) -> str:
    """Return a result as a table with intervals, the groups, and the first wrong samples."""
    parts = [f'<div style="{_MUTED}">{escape(manifest.title)} · {escape(manifest.id)}</div>']
    headings = (
        *("task", "method", "score", "95 % interval", "", "counted / n"),
        *("unanswered", "truncated", "failed"),
    )
    parts.append(_render_table(headings, [_render_metric(one) for one in headlines]))
    shown = {(one.task, one.method, one.metric) for one in headlines}
    groups = [one for one in metrics if one.group is not None and (one.task, one.method, one.metric) in shown]
    if groups:
        rows = [_render_metric(one, one.group) for one in groups]
        parts.append(_render_details(f"{len(groups)} groups", _render_table(("group", *headings[1:]), rows)))
    for one in manifest.unscored:
        parts.append(f"<div>{escape(f'{one.task} {one.method}: not scored, {one.why}')}</div>")
    is_share = all(one.is_share for one in headlines)
    if is_share and (wrong := samples.wrong):
        title = f"First {min(len(wrong), _N_WRONG)} of {len(wrong)} samples that are not right"
        parts.append(_render_details(title, _render_wrong(wrong[:_N_WRONG]), is_open=True))
    return _wrap(parts)


def render_comparison_html(compared: ComparisonWithFlips) -> str:
    """Return a comparison as a table, a sentence for each difference, and the samples that changed."""
    comparison = compared.comparison
    sides = ", ".join(
        f"{format_side_letter(at)}: {escape(side.name)}" for at, side in enumerate(comparison.sides)
    )
    headings = ("task", "method", "first", "second", "second - first", "95 % interval", "p", "pairs")
    rows = [_render_difference(one) for one in comparison.headlines]
    parts = [f'<div style="{_MUTED}">{sides}</div>', _render_table(headings, rows)]
    parts += [f"<div>{escape(describe_difference(one))}</div>" for one in comparison.headlines]
    parts += [f'<div style="{_MUTED}">{escape(note)}</div>' for note in comparison.notes]
    for flips in compared.flips:
        for side, ways in zip(flips.sides, (flips.only_first, flips.only_second), strict=True):
            if ways:
                name = escape(comparison.sides[side].name)
                title = (
                    f"Only {format_side_letter(side)} ({name}) is right: {escape(flips.task)} {flips.method}"
                )
                table = _render_table(("sample", "question", "A", "B"), [_render_flip(one) for one in ways])
                parts.append(_render_details(title, table, is_escaped=True))
    return _wrap(parts)


def _wrap(parts: Sequence[str]) -> str:
    return f'<div style="color:inherit;line-height:1.4">{"".join(parts)}</div>'


def _render_table(headings: Sequence[str], rows: Sequence[str]) -> str:
    head = "".join(f'<th style="{_CELL};font-weight:600">{escape(one)}</th>' for one in headings)
    style = "border-collapse:collapse;margin:.4em 0;color:inherit;background:none"
    return f'<table style="{style}"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _render_details(title: str, content: str, *, is_open: bool = False, is_escaped: bool = False) -> str:
    state = " open" if is_open else ""
    summary = title if is_escaped else escape(title)
    return f'<details{state}><summary style="cursor:pointer">{summary}</summary>{content}</details>'


def _render_row(cells: Sequence[tuple[str, str]]) -> str:
    """Return a row of cells, each a style and its escaped content."""
    inner = "".join(f'<td style="{style}">{content}</td>' for style, content in cells)
    return f'<tr style="background:none">{inner}</tr>'


def _render_metric(metric: Metric, label: str | None = None) -> str:
    unit = " %" if metric.is_share and metric.value is not None else ""
    return _render_row(
        [
            (_CELL, escape(metric.task if label is None else label)),
            (_CELL, escape(format_metric_method(metric))),
            (_NUMBER, f"<b>{escape(format_metric_value(metric))}</b>{unit}"),
            (_NUMBER, escape(format_metric_interval(metric))),
            (_CELL, _render_bar(metric)),
            (_NUMBER, f"{metric.n_counted:,} / {metric.n:,}"),
            (_NUMBER, f"{metric.n_unanswered:,}"),
            (_NUMBER, f"{metric.n_truncated:,}"),
            (_NUMBER, f"{metric.n_failed:,}"),
        ]
    )


def _render_bar(metric: Metric) -> str:
    """Return a bar from 0 to 100 % with the interval and the value; empty for other scales."""
    if not metric.is_share or metric.value is None or metric.low is None or metric.high is None:
        return ""
    low, high, value = (_BAR * min(max(x, 0.0), 1.0) for x in (metric.low, metric.high, metric.value))
    name = f"{format_metric_value(metric)} %, 95 % interval {format_metric_interval(metric)}"
    interval = f'x="{low:.1f}" y="3" width="{max(high - low, 1):.1f}" height="8" rx="2"'
    return (
        f'<svg width="{_BAR}" height="14" role="img" aria-label="{escape(name)}">'
        f'<rect x="0" y="6" width="{_BAR}" height="2" fill="rgb(128,128,128)" fill-opacity=".35"/>'
        f'<rect {interval} fill="rgb(64,128,224)" fill-opacity=".55"/>'
        f'<rect x="{max(value - 1, 0):.1f}" y="0" width="2" height="14" fill="currentColor"/></svg>'
    )


def _render_wrong(samples: Samples) -> str:
    headings = ("sample", "prompt", "method", "reply", "answer", "right answer")
    rows = [
        _render_answer(sample, answer)
        for sample in samples
        for answer in sample.answers.values()
        if not answer.is_right
    ]
    return _render_table(headings, rows)


def _render_answer(sample: SampleResult, answer: Answer) -> str:
    found = answer.answer if answer.verdict == "scored" else answer.verdict
    reply = answer.reply if answer.reply is not None else answer.why or ""
    return _render_row(
        [
            (_CELL, escape(sample.id)),
            (_TEXT, _escape_end(answer.prompt)),
            (_CELL, escape(answer.method)),
            (_TEXT, escape(shorten_text(reply, _CELL_CHARS))),
            (_TEXT, escape(shorten_text(found or "", _CELL_CHARS))),
            (_TEXT, escape(shorten_text(answer.target or "", _CELL_CHARS))),
        ]
    )


def _escape_end(prompt: str) -> str:
    """Return the end of a prompt, where the question is."""
    text = prompt.strip()
    return escape(text if len(text) <= _CELL_CHARS else "…" + text[-_CELL_CHARS:])


def _render_difference(compared: MetricComparison) -> str:
    result = compared.result
    weight = "bold" if compared.is_real else "normal"
    return _render_row(
        [
            (_CELL, escape(format_compared_label(compared))),
            (_CELL, escape(format_compared_method(compared))),
            (_NUMBER, escape(format_side_value(compared, result.a))),
            (_NUMBER, escape(format_side_value(compared, result.b))),
            (f"{_NUMBER};font-weight:{weight}", escape(format_difference(compared))),
            (_NUMBER, escape(format_difference_interval(compared))),
            (_NUMBER, escape(format_p(compared.p).removeprefix("= "))),
            (_NUMBER, f"{result.n:,}"),
        ]
    )


def _render_flip(flip: Flip) -> str:
    answers = [
        (_TEXT, escape(shorten_text(one.answer or "", _CELL_CHARS))) for one in (flip.first, flip.second)
    ]
    question = (_TEXT, escape(shorten_text(flip.question, _CELL_CHARS)))
    return _render_row([(_CELL, escape(flip.sample_id)), question, *answers])
