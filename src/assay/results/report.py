"""report.md: the results of a run, samples worth a look, and the setup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.core.rounding import NOT_KNOWN, format_decimal, format_number
from assay.core.run import ImportedLog, RunManifest
from assay.core.score import Metric, Score, Verdict
from assay.core.task import TaskSpec
from assay.results.charges import format_charge_lines
from assay.results.rows import (
    HEADINGS,
    TEXT_HEADINGS,
    format_speed_line,
    format_thinking_lines,
    format_work_line,
    group_rows,
    markdown_list,
    markdown_table,
    mean_rows,
    result_rows,
    text_rows,
)
from assay.results.subset_families import Family, count_disagreements, group_by_family

_EXAMPLES = 10
_NOT_IN_LOG = "not in the log"


def render_report(manifest: RunManifest, metrics: Sequence[Metric], highlights: Highlights) -> str:
    """Return the report of a complete run."""
    parts = [
        f"# {', '.join(family.title for family in group_by_family(manifest.tasks))} on {manifest.title}",
        *_render_unscored(manifest),
        *_results(manifest, metrics),
        *_disagreements(manifest),
        *([markdown_list(manifest.notes)] if manifest.notes else []),
        *_groups(metrics, manifest),
        *_other_metrics(metrics),
        *_examples(highlights),
        *_tasks(manifest),
        *_model_and_settings(manifest),
    ]
    return "\n\n".join(parts) + "\n"


def _render_unscored(manifest: RunManifest) -> list[str]:
    """Return the methods without a score, and why."""
    return [
        f"**{one.task}, {one.method}: no sample could be scored.** {one.why}" for one in manifest.unscored
    ]


def _results(manifest: RunManifest, metrics: Sequence[Metric]) -> list[str]:
    parts: list[str] = []
    shares, texts = result_rows(metrics, manifest), text_rows(metrics, manifest)
    means = mean_rows(metrics, manifest)
    if means:
        parts += [
            markdown_table(HEADINGS, means),
            "A mean over subsets weights all subsets equally, regardless of their number of rows.",
        ]
    if shares or not texts:
        parts += [
            markdown_table(HEADINGS, shares),
            "Unanswered rows count as wrong. Failed rows and rows without a reference answer are not part of "
            "the score; `counted / n` shows how many rows are.",
        ]
    if lines := format_thinking_lines(manifest):
        parts += ["Thoughts are never part of an answer.", markdown_list(lines)]
    if lines := format_charge_lines(manifest):
        parts += ["Cost:", markdown_list(lines)]
    if texts:
        parts += [
            markdown_table(TEXT_HEADINGS, texts),
            "A perplexity is e to the power of the mean negative log-likelihood per token, word or byte of "
            "all scored text: lower is better. Perplexities are comparable only with the same windows, and "
            "perplexities per token only with the same tokenizer. Failed texts are omitted.",
        ]
    return parts


def _disagreements(manifest: RunManifest) -> list[str]:
    return [f"**{share.name}**: {share}." for share in count_disagreements(manifest)]


def _groups(metrics: Sequence[Metric], manifest: RunManifest) -> list[str]:
    tables = [markdown_table(headings, rows) for headings, rows in group_rows(metrics, manifest)]
    return ["## Groups", *tables] if tables else []


def _other_metrics(metrics: Sequence[Metric]) -> list[str]:
    others = [metric for metric in metrics if not metric.is_listed and metric.group is None]
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
    return NOT_KNOWN if metric.value is None else format_decimal(metric.value, 4)


def _bounds(metric: Metric) -> str:
    if metric.low is None or metric.high is None:
        return NOT_KNOWN
    return f"{format_decimal(metric.low, 4)} .. {format_decimal(metric.high, 4)}"


class Highlights:
    """The first wrong, unanswered and failed samples and the hardest texts, collected from scores."""

    def __init__(self, scores: Iterable[Score] = ()) -> None:
        self.scores: dict[str, list[Score]] = {"Wrong": [], "Unanswered": [], "Failed": []}
        self.hardest: list[Score] = []
        """The texts with the highest perplexity, highest first."""
        for score in scores:
            self.add(score)

    def add(self, score: Score) -> None:
        """Add one score."""
        if score.verdict is Verdict.SCORED:
            if score.metric in score.ratios and score.ratios[score.metric].is_exponential:
                self._add_text(score)
            if score.value != 0:
                return
            listed = self.scores["Wrong"]
        elif score.verdict is Verdict.UNANSWERED:
            listed = self.scores["Unanswered"]
        elif score.verdict is Verdict.FAILED:
            listed = self.scores["Failed"]
        else:
            return
        if len(listed) < _EXAMPLES:
            listed.append(score)

    def _add_text(self, score: Score) -> None:
        self.hardest.append(score)
        self.hardest.sort(key=lambda one: -(one.value or 0.0))
        del self.hardest[_EXAMPLES:]


def _render_hardest(scores: Sequence[Score]) -> list[str]:
    """Return the table of texts with the highest perplexity; empty for a single text."""
    if len(scores) < 2:
        return []
    rows = [
        [
            score.task,
            score.sample_id,
            format_number(score.value),
            f"{score.ratios[score.metric].denominator:,.0f}",
        ]
        for score in scores
    ]
    return [
        f"## Hardest: {len(scores)} texts with the highest perplexity",
        markdown_table(["task", "sample", "perplexity / token", "tokens"], rows),
    ]


def _examples(highlights: Highlights) -> list[str]:
    parts = _render_hardest(highlights.hardest)
    for kind, listed in highlights.scores.items():
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
                f"## {kind}: first {len(listed)}",
                markdown_table(["sample", "method", "answer", "target", "rule or reason"], rows),
            ]
    if parts:
        parts.append("Run `assay explain RUN SAMPLE` to see a sample in detail.")
    return parts


def _tasks(manifest: RunManifest) -> list[str]:
    parts = ["## Tasks"]
    for family in group_by_family(manifest.tasks):
        first = family.tasks[0]
        is_one = len(family.tasks) == 1
        facts = [
            [
                "dataset",
                f"{first.display_source} ({_format_row_count(first)})" if is_one else first.display_source,
            ],
            *([["data hash", first.data_hash]] if is_one else []),
            ["format", first.dialect],
            ["methods", ", ".join(first.methods)],
            *(
                [name, _format_setting(value)]
                for name, value in first.settings.items()
                if value not in (None, {}, [])
                and all(task.settings.get(name) == value for task in family.tasks)
            ),
        ]
        parts += [f"### {family.title}", markdown_table(["setting", "value"], facts)]
        if not is_one:
            parts.append(_subsets(family))
        differences = dict.fromkeys(one for task in family.tasks for one in task.differences)
        if differences:
            rows = [[one.name, one.original, one.here] for one in differences]
            parts += [
                "Actual or possible differences between the original system and this run:",
                markdown_table(["difference", "original", "this run"], rows),
            ]
    return parts


def _format_row_count(task: TaskSpec) -> str:
    return f"{task.n_samples:,} of {task.n_rows:,} rows"


def _subsets(family: Family) -> str:
    """Return a table of the facts and settings that differ between the subsets of a dataset."""
    first = family.tasks[0]
    own = [
        name
        for name in first.settings
        if any(task.settings.get(name) != first.settings[name] for task in family.tasks)
    ]
    rows = [
        [task.name, _format_row_count(task), ", ".join(task.categories) or "-", task.data_hash]
        + [_format_setting(task.settings.get(name)) for name in own]
        for task in family.tasks
    ]
    return markdown_table(["subset", "rows", "category", "data hash", *own], rows)


def _model_and_settings(manifest: RunManifest) -> list[str]:
    model = manifest.model
    facts = [
        ["name", model.name],
        ["backend", model.backend],
        ["weights", model.weights or "-"],
        *([["revision", model.revision]] if model.revision else []),
        ["dtype", model.dtype or "-"],
        ["chat template", model.template or "-"],
        *([name, str(value)] for name, value in model.args.items()),
    ]
    settings = [
        [name, _format_setting(setting.value), setting.source] for name, setting in manifest.settings.items()
    ]
    if manifest.imported is not None:
        settings = [
            [name, _format_setting(value), "log"] for name, value in manifest.imported.settings.items()
        ]
    stats = [[name, f"{value:,.6g}"] for name, value in manifest.stats.items()]
    line, speed = format_work_line(manifest), format_speed_line(manifest)
    return [
        "## Model",
        markdown_table(["fact", "value"], facts),
        "## Settings",
        markdown_table(["setting", "value", "from"], settings),
        "## Run",
        *([f"Model: {line}."] if line is not None else []),
        *([f"Server: {speed}."] if speed is not None else []),
        markdown_table(
            ["fact", "value"],
            [
                ["id", manifest.id],
                ["started", manifest.started or _NOT_IN_LOG],
                ["seconds", _NOT_IN_LOG if manifest.seconds is None else f"{manifest.seconds:.1f}"],
                *stats,
                *_describe_log(manifest.imported),
                *([name, version] for name, version in manifest.versions.items()),
            ],
        ),
    ]


def _describe_log(log: ImportedLog | None) -> list[list[str]]:
    """Return where an imported run comes from, and what its log does not hold."""
    if log is None:
        return []
    facts = [["imported from", f"{log.path} ({log.format})"], ["imported", log.made]]
    return [*facts, [_NOT_IN_LOG, ", ".join(log.unknown)]] if log.unknown else facts


def _format_setting(value: object) -> str:
    text = ", ".join(f"{k}={v!r}" for k, v in value.items()) if isinstance(value, dict) else str(value)
    return text if len(text) <= 300 else text[:297] + "..."
