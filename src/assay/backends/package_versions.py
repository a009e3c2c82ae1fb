"""Versions of the packages that can change results."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib import metadata


def read_package_versions(packages: Sequence[str]) -> dict[str, str]:
    """Return the versions of Python and of those packages that are installed."""
    versions = {"python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions
