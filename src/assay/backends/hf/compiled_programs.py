"""Keeps compiled kernels between runs, in Assay's cache folder, and prepares their compiler early."""

from __future__ import annotations

import os
import threading

from assay.backends.cache_dir import cache_dir
from assay.backends.hf.fused_kernels import has_compiler, normalize


def prepare_kernels(device: str) -> None:
    """Let Triton keep compiled kernels in the cache folder, and prepare it while weights are read.

    A folder that the user has set stays. Triton itself finds a kernel by its code, types, versions and
    device, so no key is needed here.
    """
    if not os.environ.get("TRITON_CACHE_DIR"):
        os.environ["TRITON_CACHE_DIR"] = str(cache_dir() / "compiled")
    if device.startswith("cuda") and has_compiler():
        threading.Thread(target=_compute_once, args=(device,), name="kernels", daemon=True).start()


def _compute_once(device: str) -> None:
    """Compute any kernel once: Triton is imported, finds the device and hashes its own files."""
    import torch

    try:
        ones = torch.ones((1, 64), device=device, dtype=torch.float32)
        normalize(ones, ones[0], 1e-6, rounds_first=True, offset=0.0)
    except Exception:  # noqa: BLE001 (the trial of the model reports what does not work)
        pass
