"""Which dataset configs of a checkout of OpenCompass or AISBench load, and whose prompt hashes come out.

    python -m benchmarks.conformance_openicl --checkout DIR

A config *loads* when it runs with all its bases; it is *checked* when its lists of datasets become entries
without a problem. Files that only other configs are based on have no lists. A hash is over the names of
classes too: AISBench took over names of files from OpenCompass and not the hash. Nothing of the checkout is
run but its configs, and nothing that these name is imported.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.core.errors import AssayError, Problem
from assay.dialects.openicl.config.checking import check_entries
from assay.dialects.openicl.config.lists import DATASETS_SUFFIX, find_dataset_lists
from assay.dialects.openicl.config.loading import ConfigFiles, LoadedConfig
from assay.dialects.openicl.config.prompt_hash import HASH_DIGITS, hash_config
from assay.results.rows import markdown_list, markdown_table
from benchmarks.openicl_entries import dataset_folder, package_of
from benchmarks.record import add_output_options, hand_over, setting

_HASH_IN_NAME = re.compile(rf"_([0-9a-f]{{{HASH_DIGITS}}})$")
_SHARE = 200
"""The number of configs that the time is given for."""


class Outcome(NamedTuple):
    """What became of one config."""

    path: Path
    problems: tuple[str, ...] = ()
    """Why it does not load."""
    n_entries: int | None = None
    """None where it has no list of datasets, or one that is wrong."""
    entry_problem: str | None = None
    hash_in_name: str | None = None
    hash_found: str | None = None


def main() -> None:
    """Go through a checkout and hand the counts over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--checkout", type=Path, required=True, help="a checkout of OpenCompass or AISBench")
    add_output_options(parser)
    options = parser.parse_args()
    package = package_of(options.checkout)
    folder = dataset_folder(options.checkout)
    assert folder is not None
    hand_over(f"conformance_{package}", section(folder), options)


def section(folder: Path) -> str:
    """Return the counts, the times, and what does not load."""
    paths = sorted(folder.rglob("*.py"))
    seconds = load_seconds(paths)
    files = ConfigFiles()
    outcomes = [outcome(path, files) for path in paths]
    named = [one for one in outcomes if one.hash_in_name and not one.problems]
    failures = [one for one in outcomes if one.problems]
    checked = [one for one in outcomes if one.n_entries is not None]
    rows = [
        ("dataset configs", f"{len(outcomes):,}"),
        ("that load", f"{len(outcomes) - len(failures):,}"),
        ("that have a list of datasets without a problem", f"{len(checked):,}"),
        ("entries in these", f"{sum(one.n_entries or 0 for one in checked):,}"),
        ("that have a hash in their name", f"{len(named):,}"),
        ("whose hash is found again", f"{sum(one.hash_in_name == one.hash_found for one in named):,}"),
    ]
    spread = sorted(seconds)
    times = (
        f"Loaded one by one, nothing shared: {sum(seconds) / len(seconds) * 1000:.1f} ms on average, "
        f"{spread[len(spread) // 2] * 1000:.1f} ms in the middle, {spread[-1] * 1000:.0f} ms at most; "
        f"{_SHARE} configs take {sum(seconds) / len(seconds) * _SHARE:.1f} s of CPU."
    )
    parts = [markdown_table(("what", "number"), rows), times]
    wrong = [(one.path, one.entry_problem) for one in outcomes if one.entry_problem]
    unloaded = [(one.path, why) for one in failures for why in one.problems]
    for title, found in (("Not loaded:", unloaded), ("Loaded, with a wrong entry:", wrong)):
        if found:
            lines = [f"{path}: {why}".replace(f"{folder}/", "") for path, why in found]
            parts += [title, markdown_list(lines)]
    return "\n\n".join([*parts, setting()])


def load_seconds(paths: Sequence[Path]) -> list[float]:
    """Return the CPU time that each config takes with all its bases, read anew for each."""
    seconds = []
    for path in paths:
        start = time.process_time()
        try:
            ConfigFiles().load(path)
        except AssayError:
            pass
        else:
            seconds.append(time.process_time() - start)
    return seconds


def outcome(path: Path, files: ConfigFiles) -> Outcome:
    """Load and check one config."""
    match = _HASH_IN_NAME.search(path.stem)
    result = Outcome(path, hash_in_name=match[1] if match else None)
    try:
        config = files.load(path)
    except AssayError as error:
        return result._replace(problems=tuple(_reasons(error.problems)))
    result = result._replace(hash_found=hash_config(config))
    return result if not has_lists(config) else checked(config, result)


def _reasons(problems: Sequence[Problem]) -> Iterator[str]:
    for problem in problems:
        line = problem.where.line if problem.where else None
        yield f"line {line}: {problem.what}" if line else problem.what


def has_lists(config: LoadedConfig) -> bool:
    """Whether a config describes datasets itself, or only holds what others are made of."""
    return any(name.endswith(DATASETS_SUFFIX) for name in config.values)


def checked(config: LoadedConfig, result: Outcome) -> Outcome:
    """Check the entries of one config."""
    try:
        entries = check_entries(config, find_dataset_lists(config, DATASETS_SUFFIX))
    except AssayError as error:
        more = f" (and {error.total - 1} more)" if error.total > 1 else ""
        return result._replace(entry_problem=f"{error.problems[0].what}{more}")
    return result._replace(n_entries=len(entries))


if __name__ == "__main__":
    main()
