"""Keeps compiled kernels between runs, in Assay's cache folder."""

from __future__ import annotations

import os

from assay.backends.cache_dir import cache_dir


def keep_compiled_programs() -> None:
    """Let Triton keep compiled kernels in the cache folder; a folder that the user has set stays.

    Triton itself finds a kernel by its code, types, versions and device, so no key is needed here.
    """
    if not os.environ.get("TRITON_CACHE_DIR"):
        os.environ["TRITON_CACHE_DIR"] = str(cache_dir() / "compiled")
