"""Which GPUs a worker on this machine sees. Asks the driver's own program, so that no torch is needed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

VISIBLE = "CUDA_VISIBLE_DEVICES"
_ASK_S = 20.0


def list_gpus() -> list[str]:
    """Return the GPUs that this process may use, by the names that `CUDA_VISIBLE_DEVICES` takes."""
    named = os.environ.get(VISIBLE)
    if named is not None:
        return [one.strip() for one in named.split(",") if one.strip()]
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    try:
        asked = subprocess.run([program, "-L"], capture_output=True, timeout=_ASK_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return []  # A driver that is installed and has no device, as in a container that was given none.
    lines = asked.stdout.decode("utf-8", "replace").splitlines()
    return [str(number) for number, line in enumerate(one for one in lines if one.startswith("GPU "))]


def assign_gpus(gpus: Sequence[str], place: int, n_each: int) -> list[str]:
    """Return the GPUs of the worker in a place; workers share one where there are fewer than workers."""
    if not gpus or not n_each:
        return []
    first = place * n_each % len(gpus)
    return list(gpus[first : first + n_each])
