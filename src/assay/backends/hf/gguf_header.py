"""Reads the header of a GGUF file: its metadata, without its weights and without any package.

The gguf package needs seconds for the same, because it creates an array for every string of the vocabulary. A
model card needs only a few numbers and the chat template. Long lists are skipped.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import TypeAlias

Value: TypeAlias = int | float | bool | str | None

_MAGIC = b"GGUF"
_STRING, _ARRAY = 8, 9
_UINT32, _UINT64 = struct.Struct("<I"), struct.Struct("<Q")
_SCALARS: dict[int, struct.Struct] = {
    kind: struct.Struct(f"<{form}")
    for kind, form in {
        0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
    }.items()
}  # fmt: skip


class NotGguf(ValueError):
    """The file is not a GGUF file of a supported version, or is truncated."""


def read_header(path: Path) -> dict[str, Value]:
    """Return a file's metadata; a list is None. Raise NotGguf if it has none."""
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise NotGguf("it does not begin with 'GGUF'")
        # Mapped: a vocabulary has tens of thousands of strings, and reading each from the file is slow.
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            try:
                return _Header(content).read()
            except (struct.error, IndexError):
                raise NotGguf("it ends in the middle of its header") from None


class _Header:
    def __init__(self, content: mmap.mmap) -> None:
        self._content = content
        self._at = len(_MAGIC)

    def read(self) -> dict[str, Value]:
        """Return all values by name."""
        version = self._scalar(_UINT32)
        if version not in (2, 3):
            raise NotGguf(f"it has version {version}; versions 2 and 3 are supported")
        _tensors, count = self._scalar(_UINT64), self._scalar(_UINT64)
        return {self._read_string(): self._value(int(self._scalar(_UINT32))) for _ in range(int(count))}

    def _value(self, kind: int) -> Value:
        if kind == _STRING:
            return self._read_string()
        if kind == _ARRAY:
            self._skip_array()
            return None
        form = _SCALARS.get(kind)
        if form is None:
            raise NotGguf(f"it contains a value of unknown type {kind}")
        return self._scalar(form)

    def _scalar(self, form: struct.Struct) -> int | float | bool:
        value: int | float | bool = form.unpack_from(self._content, self._at)[0]
        self._at += form.size
        return value

    def _read_string(self) -> str:
        size = int(self._scalar(_UINT64))
        self._skip(size)
        return self._content[self._at - size : self._at].decode("utf-8", "replace")

    def _skip(self, size: int) -> None:
        self._at += size
        if self._at > len(self._content):
            raise IndexError(self._at)

    def _skip_array(self) -> None:
        kind, count = int(self._scalar(_UINT32)), int(self._scalar(_UINT64))
        if kind == _STRING:
            self._skip_strings(count)
        elif kind == _ARRAY:
            for _ in range(count):
                self._skip_array()
        elif kind in _SCALARS:
            self._skip(_SCALARS[kind].size * count)
        else:
            raise NotGguf(f"it contains a list of unknown type {kind}")

    def _skip_strings(self, count: int) -> None:
        at, content, read_size, width = self._at, self._content, _UINT64.unpack_from, _UINT64.size
        for _ in range(count):
            at += width + read_size(content, at)[0]
        self._at = at
        self._skip(0)
