"""Where a model runs and in which number type, decided without torch when that is possible."""

from __future__ import annotations

from importlib import metadata

from assay.backends.problems import does_not_load

DTYPES = ("float32", "bfloat16", "float16")


def resolve_device(device: str) -> str:
    """Return the device that `auto` means on this machine."""
    if device != "auto" or _is_cpu_build():
        return "cpu" if device == "auto" else device
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def check_device(device: str) -> None:
    """Raise MODEL-005 when the machine does not have a device that was asked for."""
    import torch

    there = True
    if device.startswith("cuda"):
        index = int(device.partition(":")[2] or 0)
        there = torch.cuda.is_available() and index < torch.cuda.device_count()
    elif device == "mps":
        there = torch.backends.mps.is_available()
    if not there:
        raise does_not_load(
            f"this machine has no device {device!r} that torch can use", "write device=cpu or auto"
        )


def resolve_dtype(dtype: str, device: str, checkpoint: str) -> str:
    """Return the number type that `auto` means: exact on a CPU, the checkpoint's own on a GPU."""
    if dtype != "auto":
        return dtype
    if device == "cpu" or checkpoint not in DTYPES:
        return "float32"
    return checkpoint


def _is_cpu_build() -> bool:
    """Whether the installed torch knows no other device; spares importing it to ask."""
    try:
        return metadata.version("torch").endswith("+cpu")
    except metadata.PackageNotFoundError:
        return True
