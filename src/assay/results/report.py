"""report.md: what a run was, what came out, and where to look."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.core.run import RunManifest
from assay.core.score import Metric, Score, Verdict
from assay.results.rows import HEADINGS, interval, markdown_table, percent, result_rows, share, work_line

_EXAMPLES = 10


def render_report(manifest: RunManifest, metrics: Sequence[Metric], highlights: Highlights) -> str:
    """Return the report of a complete run."""
    parts = [
        f"# {', '.join(task.name for task in manifest.tasks)} on {manifest.model.name}",
        markdown_table(HEADINGS, result_rows(metrics, manifest.costs)),
        "Unanswered rows count as not right. Failed rows and rows without a known answer are left out of "
        "the score; `scored` says how many rows it rests on.",
        *_disagreements(manifest),
        *_groups(metrics),
        *_other_metrics(metrics),
        *_examples(highlights),
        *_tasks(manifest),
        *_model_and_settings(manifest),
    ]
    return "\n\n".join(parts) + "\n"


def _disagreements(manifest: RunManifest) -> list[str]:
    size = {task.name: task.n_samples for task in manifest.tasks}
    return [
        f"**{task}**: the methods disagree on {n:,} of {size[task]:,} samples."
        for task, n in manifest.disagreements.items()
    ]


def _groups(metrics: Sequence[Metric]) -> list[str]:
    grouped = [metric for metric in metrics if metric.is_headline and metric.group is not None]
    if not grouped:
        return []
    rows = [
        [
            metric.task,
            metric.method,
            metric.group or "",
            f"{metric.n_scored + metric.n_unanswered:,} / {metric.n:,}",
            percent(metric.value),
            interval(metric),
            share(metric.n_unanswered, metric.n),
        ]
        for metric in grouped
    ]
    headings = ["task", "method", "group", "scored", "score", "95 % interval", "unanswered"]
    return ["## Groups", markdown_table(headings, rows)]


def _other_metrics(metrics: Sequence[Metric]) -> list[str]:
    others = [metric for metric in metrics if not metric.is_headline and metric.group is None]
    if not others:
        return []
    rows = [
        [metric.task, metric.method, metric.metric, _number(metric), _bounds(metric), f"{metric.n_scored:,}"]
        for metric in others
    ]
    return [
        "## Other metrics",
        markdown_table(["task", "method", "metric", "value", "95 % interval", "n"], rows),
    ]


def _number(metric: Metric) -> str:
    return "-" if metric.value is None else f"{metric.value:.4f}"


def _bounds(metric: Metric) -> str:
    return "-" if metric.low is None or metric.high is None else f"{metric.low:.4f} .. {metric.high:.4f}"


class Highlights:
    """The first samples of each kind that a person would look at first, picked as scores pass by."""

    def __init__(self, scores: Iterable[Score] = ()) -> None:
        self.found: dict[str, list[Score]] = {"Wrong": [], "Unanswered": [], "Failed": []}
        for score in scores:
            self.add(score)

    def add(self, score: Score) -> None:
        """Take one score."""
        if score.verdict is Verdict.SCORED:
            if score.value != 0:
                return
            listed = self.found["Wrong"]
        elif score.verdict is Verdict.UNANSWERED:
            listed = self.found["Unanswered"]
        elif score.verdict is Verdict.FAILED:
            listed = self.found["Failed"]
        else:
            return
        if len(listed) < _EXAMPLES:
            listed.append(score)


def _examples(highlights: Highlights) -> list[str]:
    parts: list[str] = []
    for kind, listed in highlights.found.items():
        if listed:
            rows = [
                [
                    score.sample_id,
                    score.track,
                    score.answer or "-",
                    score.target or "-",
                    score.why or score.rule or "-",
                ]
                for score in listed
            ]
            parts += [
                f"## {kind}: the first {len(listed)}",
                markdown_table(["sample", "method", "answer", "target", "by"], rows),
            ]
    if parts:
        parts.append("`assay explain RUN SAMPLE` shows any of them in full.")
    return parts


def _tasks(manifest: RunManifest) -> list[str]:
    parts = ["## Tasks"]
    for task in manifest.tasks:
        facts = [
            ["dataset", f"{task.source} ({task.n_samples:,} of {task.n_rows:,} rows)"],
            ["data hash", task.data_hash],
            ["dialect", task.dialect],
            ["methods", ", ".join(task.methods)],
            *([name, _shown(value)] for name, value in task.settings.items() if value not in (None, {}, [])),
        ]
        parts += [f"### {task.name}", markdown_table(["setting", "value"], facts)]
        if task.quirks:
            rows = [[quirk.name, quirk.original, quirk.here] for quirk in task.quirks]
            parts += [
                "Where the original system and this run differ or could differ:",
                markdown_table(["quirk", "the original", "this run"], rows),
            ]
    return parts


def _model_and_settings(manifest: RunManifest) -> list[str]:
    model = manifest.model
    facts = [
        ["name", model.name],
        ["backend", model.backend],
        ["weights", model.weights or "-"],
        ["dtype", model.dtype or "-"],
        ["chat template", model.template or "-"],
        *([name, str(value)] for name, value in model.args.items()),
    ]
    settings = [[name, _shown(setting.value), setting.source] for name, setting in manifest.settings.items()]
    stats = [[name, f"{value:,.6g}"] for name, value in manifest.stats.items()]
    line = work_line(manifest)
    return [
        "## Model",
        markdown_table(["fact", "value"], facts),
        "## Settings",
        markdown_table(["setting", "value", "from"], settings),
        "## Run",
        *([f"The model: {line}."] if line is not None else []),
        markdown_table(
            ["fact", "value"],
            [
                ["id", manifest.id],
                ["started", manifest.started],
                ["seconds", f"{manifest.seconds or 0:.1f}"],
                *stats,
                *([name, version] for name, version in manifest.versions.items()),
            ],
        ),
        *([f"Notes: {'; '.join(manifest.notes)}."] if manifest.notes else []),
    ]


def _shown(value: object) -> str:
    text = ", ".join(f"{k}={v!r}" for k, v in value.items()) if isinstance(value, dict) else str(value)
    return text if len(text) <= 300 else text[:297] + "..."
