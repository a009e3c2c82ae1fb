"""A store for samples with random access: the first in memory, the rest on disk."""

from __future__ import annotations

import os
import pickle
import tempfile
import weakref
from array import array
from collections.abc import Iterable, Sequence
from typing import overload

from assay.core.sample import Sample

_MEMORY_CHARS = 64_000_000
"""Maximum characters of samples in memory, including a fixed overhead per sample."""
_SAMPLE_CHARS = 1_000
_WRITE_BUFFER_BYTES = 1 << 20


class StoredSamples(Sequence[Sample]):
    """A read-only list of samples. Each sample on disk needs eight bytes of memory.

    This process writes the file, and no other process can open it. So every value is restored exactly,
    including dates and decimals of a parquet file.
    """

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._in_memory: list[Sample] = []
        self._ends = array("Q")
        """The end position in the file of each sample that is not in memory."""
        room = _MEMORY_CHARS
        source = iter(samples)
        for sample in source:
            self._in_memory.append(sample)
            room -= _SAMPLE_CHARS + sum(len(value) for value in sample.fields.values() if type(value) is str)
            if room <= 0:
                break
        self._file = -1
        self._store(source)

    def __len__(self) -> int:
        return len(self._in_memory) + len(self._ends)

    @overload
    def __getitem__(self, at: int) -> Sample: ...

    @overload
    def __getitem__(self, at: slice) -> list[Sample]: ...

    def __getitem__(self, at: int | slice) -> Sample | list[Sample]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        at %= len(self)
        return self._in_memory[at] if at < len(self._in_memory) else self._read(at - len(self._in_memory))

    def _read(self, nth: int) -> Sample:
        begin = self._ends[nth - 1] if nth else 0
        sample: Sample = pickle.loads(os.pread(self._file, self._ends[nth] - begin, begin))
        return sample

    def _store(self, samples: Iterable[Sample]) -> None:
        waiting = bytearray()
        end = 0
        for sample in samples:
            if self._file < 0:
                file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (closed with the list)
                weakref.finalize(self, file.close)
                self._file = file.fileno()
            content = pickle.dumps(sample, pickle.HIGHEST_PROTOCOL)
            waiting += content
            end += len(content)
            self._ends.append(end)
            if len(waiting) >= _WRITE_BUFFER_BYTES:
                _write(self._file, waiting)
        if waiting:
            _write(self._file, waiting)


def _write(file: int, content: bytearray) -> None:
    """Write everything; a nearly full disk may accept only parts."""
    while content:
        del content[: os.write(file, content)]
