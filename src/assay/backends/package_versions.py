"""The versions of what decides numbers, on the machine that is asked."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib import metadata


def read_package_versions(packages: Sequence[str]) -> dict[str, str]:
    """Return the versions of Python and of packages, as far as they are installed."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
