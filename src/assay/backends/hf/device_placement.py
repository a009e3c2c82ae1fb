"""The device and the number type of a model, decided without importing torch if possible."""

from __future__ import annotations

import ctypes
import sys
from importlib import metadata

from assay.backends.problems import load_error
from assay.core.time_profile import measuring

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_MAX_MMAP_THRESHOLD = 32 << 20
"""The largest block that glibc can keep."""

DTYPES = ("float32", "bfloat16", "float16")


def resolve_device(device: str) -> str:
    """Return the device that `auto` means on this machine."""
    if device != "auto" or _is_cpu_build():
        return "cpu" if device == "auto" else device
    with measuring("import"):
        import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def check_device(device: str) -> None:
    """Raise MODEL-005 if the machine does not have the requested device."""
    import torch

    exists = True
    if device.startswith("cuda"):
        index = int(device.partition(":")[2] or 0)
        exists = torch.cuda.is_available() and index < torch.cuda.device_count()
    elif device == "mps":
        exists = torch.backends.mps.is_available()
    if not exists:
        raise load_error(
            f"torch finds no device {device!r} on this machine", "use --model-arg device=cpu or device=auto"
        )


def resolve_dtype(dtype: str, device: str, checkpoint: str) -> str:
    """Return the number type that `auto` means: exact on a CPU, the checkpoint's own on a GPU."""
    if dtype != "auto":
        return dtype
    if device == "cpu" or checkpoint not in DTYPES:
        return "float32"
    return checkpoint


def keep_freed_memory() -> None:
    """Tell the C library to keep memory that tensors free, for the next ones.

    By default it returns large blocks to the system, and fetching their pages again for every step takes
    longer than the step itself. Does nothing if the library is not glibc.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
        mallopt(_M_MMAP_THRESHOLD, _MAX_MMAP_THRESHOLD)


def _is_cpu_build() -> bool:
    """Return whether the installed torch supports only the CPU, without importing it."""
    try:
        return metadata.version("torch").endswith("+cpu")
    except metadata.PackageNotFoundError:
        return True
