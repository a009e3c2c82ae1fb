"""Terminal output: errors, datasets, prompts and result tables."""

from __future__ import annotations

import os
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from rich.cells import cell_len
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from assay.app.allowed_failures import AllowedFailures, is_failed
from assay.app.run import FinishedRun
from assay.core.compilation import CompiledDataset
from assay.core.errors import MAX_SHOWN_PROBLEMS, AssayError, Problem, format_count
from assay.core.origin import Origin
from assay.core.prompt import Prompt
from assay.core.rounding import format_percent
from assay.core.run import RunManifest, RunStatus
from assay.core.sample import Sample
from assay.core.score import NO_RIGHT_ANSWERS, Metric
from assay.core.tally import SCORING
from assay.core.task import Task
from assay.core.text_preview import shorten_text
from assay.faces.cli.console import err, out
from assay.faces.cli.tables import fit_table, print_rows, print_table
from assay.results.charges import format_charge_lines
from assay.results.rows import (
    HEADINGS,
    TEXT_HEADINGS,
    format_reuse_line,
    format_speed_line,
    format_thinking_lines,
    format_time_line,
    format_work_line,
    group_rows,
    mean_rows,
    result_rows,
    text_rows,
)
from assay.results.subset_families import (
    average_over_subsets,
    count_disagreements,
    group_by_family,
    select_headline_metrics,
)

SHOWN_PROMPT = 20_000
"""Maximum characters of a prompt's message: a terminal cannot lay out millions."""
_TITLE_FRAME = 6
"""Cells of a panel's frame around its title."""
RETRY = "--retry-failed"
_NOTES_SHOWN = 12
_ANSWERS_SHOWN = 4
_SHOWN_ANSWER = 200
_FACTS_SHOWN = 8
"""Maximum values of one fact to show for a dataset's subsets."""


def show_error(error: AssayError) -> None:
    """Print every problem: code, place, what is wrong, and the fix on its own line."""
    for problem in error.problems[:MAX_SHOWN_PROBLEMS]:
        place = f" [bold]{escape(_relativize_origin(problem.where))}[/]" if problem.where else ""
        err.print(f"[bold red]{problem.code}[/]{place}", soft_wrap=True)
        err.print(f"  {escape(problem.what)}", soft_wrap=True)
        err.print(f"  [green]fix:[/] {escape(_expand_fix(problem))}", soft_wrap=True)
    if error.total > MAX_SHOWN_PROBLEMS:
        err.print(f"... and {error.total - MAX_SHOWN_PROBLEMS:,} more")


def _expand_fix(problem: Problem) -> str:
    """Return a fix whose commands repeat the typed command line, ready to paste."""
    path = "" if problem.where is None else problem.where.path
    # The fixes of these errors add flags; others change given flags.
    if path not in sys.argv[1:] or not problem.code.startswith(("TABLE-", "SOURCE-")):
        return problem.fix
    return problem.fix.replace(f"assay run {shlex.quote(path)}", shlex.join(["assay", *sys.argv[1:]]))


def _relativize_origin(where: Origin) -> str:
    """Return a place with the path relative to the working folder."""
    return str(where).removeprefix(f"{Path.cwd()}{os.sep}")


def _relativize_text(text: str) -> str:
    """Return a text with paths relative to the working folder."""
    return text.replace(f"{Path.cwd()}{os.sep}", "")


def show_compiled(
    one: CompiledDataset, task: Task, *, n_prompts: int = 1, every_method: bool = False
) -> None:
    """Print how Assay interprets a dataset, and prompts of its first samples."""
    spec = one.task.spec
    out.print(
        f"[bold]{escape(spec.name)}[/]  {format_count(spec.n_rows, 'row')}, {one.kind} "
        f"by {', '.join(spec.methods)}"
    )
    _show_facts(one.facts, one.notes)
    for sample in islice(task.samples(), n_prompts):
        _show_prompts(one, sample, every_method=every_method)


def show_subsets(
    family: str,
    compiled: Sequence[CompiledDataset],
    task: Task,
    *,
    n_prompts: int = 1,
    every_method: bool = False,
) -> None:
    """Print how Assay interprets the subsets of a dataset, and prompts of the first one."""
    first = compiled[0]
    n_rows = sum(one.task.spec.n_rows for one in compiled)
    kinds = ", ".join(dict.fromkeys(one.kind for one in compiled))
    methods = ", ".join(dict.fromkeys(method for one in compiled for method in one.task.spec.methods))
    names = ", ".join(one.task.spec.name.removeprefix(f"{family}:") for one in compiled)
    out.print(f"[bold]{escape(family)}[/]  {len(compiled)} subsets, {n_rows:,} rows, {kinds} by {methods}")
    out.print(f"  [dim]subsets  [/] {escape(names)}", soft_wrap=True)
    notes = Counter(note for one in compiled for note in one.notes)
    shared = [note if n == len(compiled) else f"{note} ({n} of the subsets)" for note, n in notes.items()]
    _show_facts(_merge_facts(compiled), shared)
    for sample in islice(task.samples(), n_prompts):
        _show_prompts(first, sample, every_method=every_method)


def _merge_facts(compiled: Sequence[CompiledDataset]) -> list[tuple[str, str]]:
    """Merge the facts of subsets: a shared value once, otherwise the values in order, with their counts."""
    names = dict.fromkeys(name for one in compiled for name, _ in one.facts)
    return [(name, _format_value_counts(_count_values(compiled, name), len(compiled))) for name in names]


def _count_values(compiled: Sequence[CompiledDataset], name: str) -> Counter[str]:
    """Return how often each value of a fact occurs; a subset without the fact has the value none."""
    return Counter(
        value for one in compiled for value in [value for key, value in one.facts if key == name] or ["none"]
    )


def _format_value_counts(values: Counter[str], n_subsets: int) -> str:
    if len(values) == 1 and values.total() == n_subsets:
        return next(iter(values))
    shown = [
        value if n == 1 else f"{value} ({n} subsets)" for value, n in islice(values.items(), _FACTS_SHOWN)
    ]
    more = len(values) - len(shown)
    return "; ".join([*shown, f"{more} more"] if more else shown)


def _show_facts(facts: Sequence[tuple[str, str]], notes: Sequence[str]) -> None:
    for name, value in facts:
        out.print(f"  [dim]{name:<9}[/] {escape(value)}", soft_wrap=True)
    for note in notes[:_NOTES_SHOWN]:
        out.print(f"  [yellow]note[/]      {escape(note)}", soft_wrap=True)
    if len(notes) > _NOTES_SHOWN:
        out.print(f"  [yellow]note[/]      and {len(notes) - _NOTES_SHOWN:,} more in report.md")


def show_all_compiled(
    compiled: Sequence[CompiledDataset],
    tasks: Sequence[Task],
    *,
    n_prompts: int = 1,
    every_method: bool = False,
) -> None:
    """Print how Assay interprets datasets, with the subsets of a dataset together."""
    for family in group_by_family([task.spec for task in tasks]):
        names = {task.name for task in family.tasks}
        members = [pair for pair in zip(compiled, tasks, strict=True) if pair[1].spec.name in names]
        one, task = members[0]
        if len(members) == 1:
            show_compiled(one, task, n_prompts=n_prompts, every_method=every_method)
        else:
            parts = [part for part, _ in members]
            show_subsets(family.name, parts, task, n_prompts=n_prompts, every_method=every_method)


def _show_prompts(one: CompiledDataset, sample: Sample, *, every_method: bool) -> None:
    shown: dict[Prompt, list[str]] = {}
    for method in one.task.spec.methods:
        shown.setdefault(one.task.preview_prompt(sample, method), []).append(method)
    what = "text" if one.kind == "text" else "prompt"
    for prompt, methods in islice(shown.items(), None if every_method else 1):
        title = f"{', '.join(methods)} {what} of {sample.id} ({_relativize_origin(sample.origin)})"
        print_prompt(prompt, title)
    if one.task.spec.dialect == "table" and sample.is_graded:
        out.print(f"  [dim]right    [/] {escape(_right_answer(sample))}", soft_wrap=True)
    others = [method for methods in list(shown.values())[1:] for method in methods]
    if others and not every_method:
        out.print(f"  [dim]the prompts of {', '.join(others)} differ; `assay check` shows them[/]")


def _right_answer(sample: Sample) -> str:
    """Return the right answer of a sample: an option with its label, or the accepted texts."""
    right = [f"{sample.labels[index]}. {sample.choices[index]}" for index in sample.gold]
    texts = [shorten_text(text, _SHOWN_ANSWER) for text in (right or sample.targets)[:_ANSWERS_SHOWN]]
    more = len(right or sample.targets) - len(texts)
    return " | ".join([*texts, *([f"{more} more"] if more else [])])


def print_prompt(prompt: Prompt, title: str) -> None:
    """Print a prompt in a frame, with the roles of chat messages."""
    print_panel(format_prompt(prompt), title)


def format_prompt(prompt: Prompt) -> Text:
    """Return a prompt as text, with the roles of chat messages."""
    text = Text()
    if isinstance(prompt, str):
        text.append(shorten_text(prompt, SHOWN_PROMPT))
    else:
        for message in prompt:
            text.append(f"{message.role}\n", style="bold cyan")
            text.append(shorten_text(message.display_text, SHOWN_PROMPT) + "\n")
        text.rstrip()
    return text


def print_panel(content: Text | str, title: str) -> None:
    """Print a text in a frame, with the title above it if the frame would truncate it."""
    if out.is_terminal and cell_len(title) + _TITLE_FRAME > out.width:
        out.print(escape(title), soft_wrap=True)
        title = ""
    out.print(
        Panel(content, title=escape(title) or None, title_align="left", border_style="dim", expand=False)
    )


_SCORE = ("task", "method", "counted\n/ n", "score\n%", "95 %\ninterval")
_COST = ("tokens", "seconds")
_RESULT_LAYOUTS = (
    (*_SCORE, "unanswered\n%", "truncated\n%", "failed\n%", *_COST),
    (*_SCORE, "no\nanswer %", "cut\noff %", "failed\n%", *_COST),
    (*_SCORE, "no\nanswer\n%", "cut\noff\n%", "failed\n%"),
)
"""Headings of the result table, the widest layout first; a layout may omit the last columns."""
_PERPLEXITY = (
    "task",
    "windows",
    "counted\n/ n",
    "perplexity\n/ token",
    "95 %\ninterval",
    "\n/ word",
    "\n/ byte",
)
_TEXT_LAYOUTS = (
    (*_PERPLEXITY, "bits\n/ byte", "failed\n%", *_COST),
    (*_PERPLEXITY, "bits\n/ byte", "failed\n%"),
)


def result_tables(manifest: RunManifest, metrics: Sequence[Metric]) -> list[Table | Text]:
    """Return the tables of scores with their counts: percentages, and perplexities."""
    tables: list[Table | Text] = []
    shares, means = result_rows(metrics, manifest), mean_rows(metrics, manifest)
    if shares:
        tables.append(fit_table(_RESULT_LAYOUTS, HEADINGS, shares, means))
    texts = text_rows(metrics, manifest)
    if texts:
        tables.append(fit_table(_TEXT_LAYOUTS, TEXT_HEADINGS, texts))
    return tables


def _print_group_tables(metrics: Sequence[Metric], manifest: RunManifest) -> None:
    """Print the tables of scores per group: shares and perplexities separately."""
    for headings, rows in group_rows(metrics, manifest):
        is_one_task = len({row[0] for row in rows}) == 1
        names = _reorder_group_row(headings, is_one_task=is_one_task)
        cells = [
            [cell or "(empty)" for cell in _reorder_group_row(row, is_one_task=is_one_task)] for row in rows
        ]
        out.print()
        print_rows([name.replace("% ", "%\n") for name in names], cells, n_left=3 - is_one_task)


def _reorder_group_row(cells: Sequence[str], *, is_one_task: bool) -> list[str]:
    """Return the cells of a group with the group first, and without the task if there is only one."""
    task, method, group, *rest = cells
    return [group, method, *rest] if is_one_task else [task, group, method, *rest]


def show_result(run: FinishedRun, retry: str = RETRY) -> None:
    """Print the results and the path of the report; `retry` is the flag that repeats failed requests."""
    out.print()
    if run.manifest.status is RunStatus.ANSWERED:
        show_notes(run.run_notes)
        _show_answer_counts(run)
        return
    if run.manifest.status is RunStatus.STOPPED:
        show_notes(run.run_notes)
        _show_charges(run.manifest)
        out.print(f"[dim]answers[/] {escape(str(run.folder))}", soft_wrap=True)
        return
    show_metrics(run.manifest, run.metrics, retry)
    show_notes(run.run_notes)
    out.print(f"[dim]report[/]  {escape(str(run.folder / 'report.html'))}", soft_wrap=True)


def _show_charges(manifest: RunManifest) -> None:
    """Print what the run cost."""
    for line in format_charge_lines(manifest):
        out.print(f"[dim]cost[/]     {escape(line)}", soft_wrap=True)


def _show_answer_counts(run: FinishedRun) -> None:
    """Print the number of answers of a run that is not scored yet."""
    tally = run.tally
    failed = f", {tally.n_failed:,} samples failed" if tally.n_failed else ""
    out.print(f"stored answers to {tally.n_requests:,} requests for {tally.n_samples:,} samples{failed}")
    out.print(f"[dim]answers[/] {escape(str(run.folder))}", soft_wrap=True)


def show_metrics(manifest: RunManifest, metrics: Sequence[Metric], retry: str = RETRY) -> None:
    """Print the tables of a run, and warnings."""
    for table in result_tables(manifest, metrics):
        print_table(table)
    _print_group_tables(metrics, manifest)
    for line in format_thinking_lines(manifest):
        out.print(f"[dim]thinking[/] {escape(line)}", soft_wrap=True)
    _show_charges(manifest)
    for task, method, mass in average_over_subsets(metrics, "mass", manifest):
        out.print(
            f"[dim]{escape(task)} {method}: {format_percent(mass)} % of the next-token probability fell on "
            "the labels[/]"
        )
    for share in count_disagreements(manifest):
        out.print(f"[dim]{escape(f'{share.name}: {share}')}[/]")
    is_imported = manifest.imported is not None
    for metric in select_headline_metrics(metrics, manifest):
        # The warnings of a group appear at its tasks.
        for line in (
            () if metric.task in manifest.groups else _warnings(metric, None if is_imported else retry)
        ):
            style = "yellow" if metric.value is not None else "red"
            text = escape(_relativize_text(f"{metric.task} {metric.method}: {line}"))
            out.print(f"[{style}]{text}[/]", soft_wrap=True)
    if (work := format_work_line(manifest)) is not None:
        out.print(f"[dim]model: {work}[/]", soft_wrap=True)
    if (speed := format_speed_line(manifest)) is not None:
        out.print(f"[dim]server: {speed}[/]", soft_wrap=True)
    if (times := format_time_line(manifest)) is not None:
        out.print(f"[dim]time: {times}[/]", soft_wrap=True)
    if (reuse := format_reuse_line(manifest)) is not None:
        out.print(f"[dim]{reuse}[/]", soft_wrap=True)


def show_failures(
    manifest: RunManifest, allowed: AllowedFailures, retry: str = RETRY, *, who: str = ""
) -> None:
    """Print the number of failed samples, the tasks without a score, and the exit status.

    `retry` is the flag of the command that repeats failed requests; `who` names the run if there are several.
    """
    who = f"{escape(who)}: " if who else ""
    n_failed = sum(manifest.failures.values())
    if n_failed:
        _show_failed_samples(manifest, allowed, n_failed, retry, who)
    faults = [f"{one.task} {one.method}" for one in manifest.unscored if one.is_fault]
    ends = ": exit status 3" if is_failed(manifest) else ""
    if manifest.status is RunStatus.UNSCORED:
        hint = "" if faults else "; --stage infer collects answers without scoring"
        err.print(f"[red]{who}no sample could be scored{ends}{hint}[/]", soft_wrap=True)
    elif faults:
        err.print(f"[red]{who}no score for {escape(', '.join(faults))}{ends}[/]", soft_wrap=True)


def _show_failed_samples(
    manifest: RunManifest, allowed: AllowedFailures, n_failed: int, retry: str, who: str
) -> None:
    n_samples = sum(task.n_samples for task in manifest.tasks)
    reasons = ", ".join(f"{n:,} {escape(reason)}" for reason, n in manifest.failures.items())
    verdict = f"within --allow-failures {allowed}"
    if allowed.are_exceeded(n_failed, n_samples):
        verdict = f"more than --allow-failures {allowed} permits: exit status 3"
        # A retry does not repeat requests that were answered but could not be scored.
        can_retry = manifest.imported is None and manifest.failures.keys() - {SCORING}
        verdict += f"; retry them with {retry}" if can_retry else ""
    failed = f"{n_failed:,} of {n_samples:,} samples failed ({reasons}), {verdict}"
    err.print(f"[red]{who}{failed}[/]", soft_wrap=True)


def show_notes(notes: Sequence[str]) -> None:
    """Print the notes of a run."""
    for note in notes[:_NOTES_SHOWN]:
        out.print(f"[yellow]{escape(note)}[/]", soft_wrap=True)
    if len(notes) > _NOTES_SHOWN:
        out.print(f"[yellow]... and {len(notes) - _NOTES_SHOWN:,} more notes in report.md[/]")


def _warnings(metric: Metric, retry: str | None) -> list[str]:
    """Return warnings about a metric; `retry` is the flag that repeats failed requests, if there is one."""
    lines = []
    if metric.n_failed and metric.value is not None:
        first = "" if metric.why is None else f"; {metric.why}"
        lines.append(
            f"failed rows, not part of the score: {metric.n_failed:,}{first}; "
            "see the reasons with `assay explain`" + (f", retry them with {retry}" if retry else "")
        )
    if metric.n_unanswered > 0.02 * metric.n:
        lines.append(
            f"outputs without an answer: {metric.n_unanswered:,}; `assay explain` shows the rules tried"
        )
    if metric.n_truncated > 0.02 * metric.n:
        limit = "--max-tokens" if retry else "limit of tokens"
        lines.append(f"{metric.n_truncated:,} outputs were truncated; a larger {limit} may change the score")
    if metric.value is None:
        lines.append(f"no sample could be scored: {metric.why or NO_RIGHT_ANSWERS}")
    return lines
