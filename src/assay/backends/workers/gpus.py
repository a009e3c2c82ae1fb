"""The GPUs for each worker on this machine. Uses the driver's own program, so torch is not needed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

VISIBLE = "CUDA_VISIBLE_DEVICES"
_ASK_S = 20.0


def list_gpus() -> list[str]:
    """Return the GPUs available to this process, by their names in `CUDA_VISIBLE_DEVICES`."""
    named = os.environ.get(VISIBLE)
    if named is not None:
        return [entry.strip() for entry in named.split(",") if entry.strip()]
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    try:
        listing = subprocess.run([program, "-L"], capture_output=True, timeout=_ASK_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return []  # The driver is installed but has no device, as in a container without GPUs.
    lines = listing.stdout.decode("utf-8", "replace").splitlines()
    return [str(number) for number, line in enumerate(entry for entry in lines if entry.startswith("GPU "))]


def assign_gpus(gpus: Sequence[str], place: int, n_each: int) -> list[str]:
    """Return the GPUs of the worker in a slot; workers share GPUs if there are fewer GPUs than workers."""
    if not gpus or not n_each:
        return []
    first = place * n_each % len(gpus)
    return list(gpus[first : first + n_each])
