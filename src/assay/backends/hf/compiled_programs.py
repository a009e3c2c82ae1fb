"""Keeps torch's compiled programs between runs, in Assay's cache folder."""

from __future__ import annotations

import os

from assay.backends.cache_dir import cache_dir

_FOLDERS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
"""Where torch keeps the programs it compiles, and Triton its kernels."""


def keep_compiled_programs() -> None:
    """Let torch keep compiled programs in the cache folder; a folder that the user has set stays.

    By default they are in the folder for temporary files, which machines empty. torch itself finds a program
    by its code, shapes, versions and device, so no key is needed here.
    """
    if not any(os.environ.get(name) for name in _FOLDERS):
        root = cache_dir() / "compiled"
        for name, folder in zip(_FOLDERS, ("inductor", "triton"), strict=True):
            os.environ[name] = str(root / folder)
