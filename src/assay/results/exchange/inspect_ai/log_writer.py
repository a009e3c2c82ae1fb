"""Writing inspect_ai logs, one sample at a time: `.eval` archives and `.json` files."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

_BRIEF_CHARS = 1_000
"""Longer texts are shortened in the summaries that the viewer lists."""
_LEVEL = 6

_encode = msgspec.json.Encoder().encode


class LogWriter(Protocol):
    """A log that is being written."""

    def add(self, sample: Mapping[str, Any]) -> None:
        """Write one sample in one epoch."""

    def close(self, reductions: Sequence[Mapping[str, Any]]) -> None:
        """Complete the log."""


class EvalArchiveWriter:
    """Writes an `.eval` log."""

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self._header = header
        self._archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL)
        start = {name: header[name] for name in ("version", "eval", "plan")}
        self._archive.writestr("_journal/start.json", _encode(start))
        self._summaries = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._n_samples = 0

    def add(self, sample: Mapping[str, Any]) -> None:
        """Write one sample in one epoch."""
        self._archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", _encode(sample))
        self._summaries.write((b"," if self._n_samples else b"[") + _encode(_summarize(sample)))
        self._n_samples += 1

    def close(self, reductions: Sequence[Mapping[str, Any]]) -> None:
        """Complete the log."""
        self._summaries.write(b"]" if self._n_samples else b"[]")
        self._summaries.seek(0)
        with self._archive.open("summaries.json", "w", force_zip64=True) as member:
            shutil.copyfileobj(self._summaries, member)
        self._summaries.close()
        self._archive.writestr("reductions.json", _encode(reductions))
        self._archive.writestr("header.json", _encode(self._header))
        self._archive.close()


class JsonLogWriter:
    """Writes a `.json` log."""

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self._file = open(path, "wb")  # noqa: SIM115 - closed by `close`
        self._file.write(_encode(header)[:-1] + b',"samples":[')
        self._n_samples = 0

    def add(self, sample: Mapping[str, Any]) -> None:
        """Write one sample in one epoch."""
        self._file.write((b",\n" if self._n_samples else b"\n") + _encode(sample))
        self._n_samples += 1

    def close(self, reductions: Sequence[Mapping[str, Any]]) -> None:
        """Complete the log."""
        self._file.write(b'],"reductions":' + _encode(reductions) + b"}\n")
        self._file.close()


def open_log_writer(path: Path, header: Mapping[str, Any]) -> LogWriter:
    """Return a writer for the kind of log that the name of the file asks for."""
    return JsonLogWriter(path, header) if path.suffix == ".json" else EvalArchiveWriter(path, header)


def _summarize(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a list of samples shows of one."""
    copied = ("id", "epoch", "choices", "target", "model_usage", "total_time", "uuid")
    summary = {name: sample[name] for name in copied if name in sample}
    summary["input"] = _shorten_input(sample["input"])
    summary["metadata"] = {
        name: _shorten(value)
        for name, value in sample["metadata"].items()
        if isinstance(value, str | int | float | bool)
    }
    summary["scores"] = {
        name: {key: _shorten(value) for key, value in score.items() if key != "metadata"}
        for name, score in sample["scores"].items()
    }
    if "error" in sample:
        summary["error"] = sample["error"]["message"]
    if "limit" in sample:
        summary["limit"] = sample["limit"]["type"]
    return {**summary, "completed": True, "message_count": len(sample["messages"])}


def _shorten_input(value: Any) -> Any:
    if isinstance(value, str):
        return _shorten(value)
    return [{**one, "content": _shorten_content(one["content"])} for one in value]


def _shorten_content(content: Any) -> Any:
    if isinstance(content, str):
        return _shorten(content)
    return [part for part in content if part["type"] == "text"]


def _shorten(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _BRIEF_CHARS:
        return value[:_BRIEF_CHARS] + "..."
    return value
