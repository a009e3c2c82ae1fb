"""Where measured numbers go: a section of RESULTS.md for each script, replaced whole when it runs again."""

from __future__ import annotations

import argparse
import os
import platform
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Give a script the two ways to hand its tables over."""
    parser.add_argument("--markdown", action="store_true", help="print the section for RESULTS.md")
    parser.add_argument("--write", action="store_true", help="put the section into RESULTS.md")


def hand_over(name: str, section: str, options: argparse.Namespace) -> None:
    """Print the section, or put it into RESULTS.md between its two marks."""
    if options.write:
        text = RESULTS.read_text(encoding="utf-8")
        marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if not marks.search(text):
            raise SystemExit(f"RESULTS.md has no marks <!-- {name} --> and <!-- /{name} -->")
        RESULTS.write_text(marks.sub(lambda m: f"{m[1]}{section}\n{m[2]}", text), encoding="utf-8")
    if options.markdown or not options.write:
        print(section)


def setting(more: Mapping[str, str] | None = None) -> str:
    """Return in one line when and on what the numbers were measured."""
    versions = {"python": platform.python_version()}
    for package in ("assay-eval", "torch", "transformers", "tokenizers"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    versions.update(more or {})
    named = ", ".join(f"{package} {version}" for package, version in versions.items())
    day = datetime.now(UTC).date().isoformat()
    return f"Measured {day} on {os.cpu_count()} cores, no accelerator used; {named}."
