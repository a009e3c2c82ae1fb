"""assay ls benchmarks"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from assay.faces.cli.json_output import Answer, json_option

if TYPE_CHECKING:
    from assay.app.benchmarks import BenchmarkList, ListedBenchmark

_GAP = "  "
_LEAST_ABOUT = 24
"""Cells below which the columns move below the name."""
_LONGEST_NAME = 64


@click.command()
@click.argument("pattern", required=False)
@click.option("--source", metavar="NAME", help="List one source only, such as opencompass. [all]")
@click.option("--all", "is_all", is_flag=True, help="Also list the members of listed groups. [off]")
@click.option(
    "--benchmarks-from",
    multiple=True,
    metavar="DIR",
    help="Checkout or folder with more benchmarks to list. Repeatable.",
)
@click.option("--data-root", metavar="DIR", help="Folder of datasets that you can use by name.")
@json_option
def benchmarks(
    pattern: str | None,
    source: str | None,
    is_all: bool,
    benchmarks_from: tuple[str, ...],
    data_root: str | None,
    is_json: bool,
) -> Answer | None:
    """List the benchmarks that `assay run` accepts by name, with their method and data.

    PATTERN is a glob such as 'mmlu*' or 'opencompass:gsm8k*', or a word to find in names, datasets and
    descriptions. The benchmarks come from the installed packages lm-eval, opencompass and
    ais_bench_benchmark, and from the folders of --benchmarks-from. Assay reads their files and runs none of
    their code.
    """
    from pathlib import Path

    from assay.app.benchmarks import list_benchmarks
    from assay.app.settings import resolve_settings

    flags = {"data_root": data_root, "benchmarks_from": benchmarks_from or None}
    values = resolve_settings(flags, os.environ, Path.cwd()).values
    listed = list_benchmarks(pattern, values, source)
    if is_json:
        from assay.faces.cli.answers import BenchmarksAnswer

        return Answer(BenchmarksAnswer(listed.sources, listed.benchmarks))
    _print_paged(list(_format_list(listed, pattern, is_all=is_all)))
    return None


def _print_paged(lines: Sequence[str]) -> None:
    """Print lines; on a terminal that is too short for them, through the pager."""
    text = "\n".join(lines) + "\n"
    if sys.stdout.isatty() and len(lines) >= shutil.get_terminal_size().lines:
        click.echo_via_pager(text)
    else:
        click.echo(text, nl=False)


def _format_list(listed: BenchmarkList, pattern: str | None, *, is_all: bool) -> Iterator[str]:
    if not listed.sources:
        yield "no benchmarks on this machine: install task files or configs, which Assay reads as data,"
        yield "  pip install --no-deps lm-eval opencompass ais_bench_benchmark"
        yield "or name a checkout: assay ls benchmarks --benchmarks-from DIR"
        return
    inside = frozenset[str]() if is_all else frozenset(_list_inner_names(listed.benchmarks))
    shown = [one for one in listed.benchmarks if one.name not in inside]
    if pattern is None:
        for source in listed.sources:
            version = source.version or "checkout"
            yield f"{source.title} {version}: {source.n_benchmarks:,} benchmarks in {source.folder}"
        yield ""
    yield from _format_table(shown)
    n_hidden = len(listed.benchmarks) - len(shown)
    count = "1 benchmark" if len(shown) == 1 else f"{len(shown):,} benchmarks"
    yield f"{count}, and {n_hidden:,} in these groups: --all lists them" if n_hidden else count
    if not listed.benchmarks:
        searched = ", ".join(dict.fromkeys(source.source for source in listed.sources))
        yield f"{pattern!r} matches nothing in {searched}; try a shorter word, or a glob such as 'mmlu*'"


def _list_inner_names(benchmarks: Sequence[ListedBenchmark]) -> Iterator[str]:
    """Yield the names of the benchmarks that are in a group among them and named after it."""
    for one in benchmarks:
        start = one.name.removesuffix("_tasks")
        for member in one.members:
            name = f"{one.source}:{member}"
            if name != one.name and name.startswith(start):
                yield name


def _format_table(shown: Sequence[ListedBenchmark]) -> Iterator[str]:
    """Yield a line for each benchmark; on a narrow terminal, its name has a line of its own."""
    if not shown:
        return
    width = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else None
    methods = [", ".join(one.methods) or _count_members(one) for one in shown]
    columns = (
        ["benchmark", *(one.name for one in shown)],
        ["method", *methods],
        ["data", *(_describe_data(one) for one in shown)],
        ["about", *(one.about or ", ".join(one.datasets[:2]) for one in shown)],
    )
    name_width = min(max(map(len, columns[0])), _LONGEST_NAME)
    other_widths = [max(map(len, column)) for column in columns[1:3]]
    left = None if width is None else width - name_width - sum(other_widths) - 3 * len(_GAP)
    for name, method, data, about in zip(*columns, strict=True):
        line = _GAP.join((name.ljust(name_width), method.ljust(other_widths[0]), data.ljust(other_widths[1])))
        if left is None:
            yield f"{line}{_GAP}{about}".rstrip()
        elif left >= _LEAST_ABOUT:
            yield f"{line}{_GAP}{_crop(about, left)}".rstrip()
        else:
            yield name
            yield _crop(f"{_GAP}{method}{_GAP}{data}{_GAP}{about}".rstrip(), width or 0)


def _describe_data(one: ListedBenchmark) -> str:
    return str(one.data) if one.n_rows is None else f"{one.data}, {one.n_rows:,} rows"


def _count_members(one: ListedBenchmark) -> str:
    n = len(one.members)
    return "1 part" if n == 1 else f"{n} parts" if n else "?"


def _crop(text: str, width: int) -> str:
    if text.isascii() and len(text) <= width:
        return text
    # East Asian letters take two cells.
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1).rstrip()}…"
