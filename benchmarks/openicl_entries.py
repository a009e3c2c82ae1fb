"""The entries of a checkout of OpenCompass or AISBench: each that differs from all others, once."""

from __future__ import annotations

import argparse
import logging
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from assay.core.errors import AssayError
from assay.dialects.openicl.config.checking import check_entries
from assay.dialects.openicl.config.entry import DatasetEntry
from assay.dialects.openicl.config.lists import DATASETS_SUFFIX, find_dataset_lists
from assay.dialects.openicl.config.loading import ConfigFiles
from assay.dialects.openicl.entries import ConfigEntry
from benchmarks.record import add_output_options, hand_over

PLACES = ("opencompass/configs/datasets", "ais_bench/benchmark/configs/datasets")
"""Where a checkout of either has its dataset configs."""


def dataset_folder(checkout: Path) -> Path | None:
    """Return where a checkout has its dataset configs."""
    return next((checkout / place for place in PLACES if (checkout / place).is_dir()), None)


def package_of(checkout: Path) -> str:
    """Return what the package of a checkout is called: the first part of its modules' names."""
    folder = dataset_folder(checkout)
    if folder is None:
        raise SystemExit(f"{checkout} has none of the folders {', '.join(PLACES)}")
    return folder.relative_to(checkout).parts[0]


def every_entry(checkout: Path) -> Iterator[ConfigEntry]:
    """Yield the entries of all configs that can be read; configs of configs have those of others again."""
    folder = dataset_folder(checkout)
    files = ConfigFiles(checkout)
    for path in sorted(folder.rglob("*.py")) if folder else ():
        try:
            config = files.load(path)
            placed = check_entries(config, find_dataset_lists(config, DATASETS_SUFFIX))
        except AssayError:
            continue  # Counted and named by conformance_openicl.
        for one in placed:
            if isinstance(one.entry, DatasetEntry):
                yield ConfigEntry(one.entry, one.where, config, None)


def distinct_entries(checkout: Path) -> list[ConfigEntry]:
    """Return the entries that differ in more than their name and the arguments of their loader."""
    found: dict[str, ConfigEntry] = {}
    for one in every_entry(checkout):
        entry = one.entry
        assert isinstance(entry, DatasetEntry)
        parts = (entry.reader_cfg, entry.infer_cfg, entry.eval_cfg, entry.judge_infer_cfg, entry.n, entry.k)
        found.setdefault(repr(parts), one)
    return list(found.values())


def count_checkout(about: str | None, name: str, section: Callable[[Path], str]) -> None:
    """Read the command line of a script that goes through a checkout, and hand its counts over."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, required=True, help="a checkout of OpenCompass or AISBench")
    add_output_options(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # Files of the checkout warn of themselves.
    logging.disable(logging.WARNING)
    package = package_of(options.checkout)
    hand_over(f"conformance_{package}_{name}", section(options.checkout), options)
