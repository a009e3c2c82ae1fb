"""Reads the header of a GGUF file: its metadata, without its weights and without any package.

The gguf package needs seconds for the same, because it creates an array for every string of the vocabulary. A
model card needs only a few numbers and the chat template. Long lists are skipped.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO, TypeAlias

Value: TypeAlias = int | float | bool | str | None

_MAGIC = b"GGUF"
_STRING, _ARRAY = 8, 9
_SCALARS: dict[int, str] = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip


class NotGguf(ValueError):
    """The file is not a GGUF file of a supported version, or is truncated."""


def read_header(path: Path) -> dict[str, Value]:
    """Return a file's metadata; a list is None. Raise NotGguf if it has none."""
    with path.open("rb") as file:
        if file.read(4) != _MAGIC:
            raise NotGguf("it does not begin with 'GGUF'")
        version = _scalar(file, 4)
        if version not in (2, 3):
            raise NotGguf(f"it has version {version}; versions 2 and 3 are supported")
        _tensors, count = _scalar(file, 10), _scalar(file, 10)
        return {_string(file): _value(file, int(_scalar(file, 4))) for _ in range(int(count))}


def _value(file: BinaryIO, kind: int) -> Value:
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        _skip_array(file)
        return None
    return _scalar(file, kind)


def _scalar(file: BinaryIO, kind: int) -> int | float | bool:
    form = _SCALARS.get(kind)
    if form is None:
        raise NotGguf(f"it contains a value of unknown type {kind}")
    size = struct.calcsize(form)
    raw = file.read(size)
    if len(raw) < size:
        raise NotGguf("it ends in the middle of its header")
    value: int | float | bool = struct.unpack(form, raw)[0]
    return value


def _string(file: BinaryIO) -> str:
    size = int(_scalar(file, 10))
    raw = file.read(size)
    if len(raw) < size:
        raise NotGguf("it ends in the middle of its header")
    return raw.decode("utf-8", "replace")


def _skip_array(file: BinaryIO) -> None:
    kind, count = int(_scalar(file, 4)), int(_scalar(file, 10))
    if kind == _STRING:
        for _ in range(count):
            file.seek(int(_scalar(file, 10)), 1)
    elif kind == _ARRAY:
        for _ in range(count):
            _skip_array(file)
    elif kind in _SCALARS:
        file.seek(struct.calcsize(_SCALARS[kind]) * count, 1)
    else:
        raise NotGguf(f"it contains a list of unknown type {kind}")
