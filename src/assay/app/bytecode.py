"""Keeps Python's bytecode in Assay's cache folder if packages cannot keep it themselves.

Container images often contain packages without bytecode, in folders that nobody can write. Then every process
compiles thousands of files of torch, transformers and what they import: most of the time of a short run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from importlib.util import find_spec

from assay.backends.cache_dir import cache_dir

_PACKAGES = ("click", "torch")
"""The packages to check: one that all commands import, and the largest one."""
_VARIABLE = "PYTHONPYCACHEPREFIX"


def keep_bytecode() -> None:
    """Let this process and its children keep bytecode in the cache folder, if a package cannot keep its own.

    Does nothing if the user has disabled bytecode or has chosen a folder for it.
    """
    if sys.dont_write_bytecode or sys.pycache_prefix is not None:
        return
    specs = [spec for name in _PACKAGES if (spec := find_spec(name)) is not None]
    if not any(map(_lacks_bytecode, specs)) or _have_one_date([__file__, *(spec.origin for spec in specs)]):
        return
    from assay.core.ids import digest

    try:
        folder = cache_dir() / "bytecode" / digest(sorted(_list_installed()))
    except (OSError, RuntimeError):
        # A folder of packages that cannot be listed, or a user without a home folder.
        return
    os.environ[_VARIABLE] = sys.pycache_prefix = str(folder)


def _lacks_bytecode(spec: ModuleSpec) -> bool:
    """Return whether a package has no bytecode and Python cannot write it."""
    if spec.origin is None or spec.cached is None or os.path.exists(spec.cached):
        return False
    return not os.access(os.path.dirname(spec.origin), os.W_OK)


def _have_one_date(files: list[str | None]) -> bool:
    """Return whether files of different packages have the same date: an image that gives it to all files.

    Python notices by the date that a file has changed, so bytecode must not outlive such an image.
    """
    return len({os.stat(file).st_mtime_ns for file in files if file is not None}) == 1


def _list_installed() -> Iterator[str]:
    """Yield the installed packages with their versions: another environment gets a folder of its own."""
    for folder in filter(os.path.isdir, sys.path):
        yield from (name for name in os.listdir(folder) if name.endswith(".dist-info"))
