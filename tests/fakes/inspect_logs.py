"""Logs in the form that inspect_ai documents, made by hand, and the real program if there is one."""

from __future__ import annotations

import json
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "ASSAY_INSPECT_PYTHON"


def require_inspect() -> str:
    """Return the Python that has inspect_ai; skip the test if nobody named one."""
    if VARIABLE not in os.environ:
        pytest.skip(f"{VARIABLE} does not name the python of an environment with inspect_ai")
    return os.environ[VARIABLE]


def build_sample(
    id_: int | str, value: Any = "C", *, epoch: int = 1, scorer: str = "match", **others: Any
) -> dict[str, Any]:
    """Return a sample with one score."""
    return {
        "id": id_,
        "epoch": epoch,
        "input": f"What is {id_} + 1?",
        "target": "2",
        "messages": [
            {"role": "user", "content": f"What is {id_} + 1?"},
            {"role": "assistant", "content": "It is 2", "model": "m"},
        ],
        "output": {
            "model": "m",
            "choices": [{"message": {"role": "assistant", "content": "It is 2"}, "stop_reason": "stop"}],
            "usage": {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12},
            "time": 0.5,
        },
        "scores": {scorer: {"value": value, "answer": "2", "explanation": "It is 2"}},
        "metadata": {"topic": "sums"},
        "events": [{"event": "never read"}],
        **others,
    }


def build_metric(name: str, value: float, **others: Any) -> dict[str, Any]:
    """Return a metric of the results."""
    return {"name": name, "value": value, "params": {}, **others}


def build_score(name: str, metrics: Sequence[Mapping[str, Any]], **others: Any) -> dict[str, Any]:
    """Return an entry of the results."""
    return {"name": name, "scorer": name, "metrics": {one["name"]: one for one in metrics}, **others}


def build_log(
    samples: Sequence[Mapping[str, Any]], scores: Sequence[Mapping[str, Any]] = (), **others: Any
) -> dict[str, Any]:
    """Return a log as inspect_ai writes it into `.json`."""
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "run_id": "r1",
            "created": "2026-03-01T10:00:00+00:00",
            "task": "sums",
            "task_id": "t1",
            "dataset": {"name": "sums", "samples": len(samples)},
            "model": "openai/gpt-x",
            "config": {"epochs": 1},
            "packages": {"inspect_ai": "0.3.285"},
        },
        "plan": {"steps": [{"solver": "generate"}], "config": {"temperature": 0.5, "max_tokens": 64}},
        "results": {"total_samples": len(samples), "scores": list(scores)},
        "stats": {
            "started_at": "2026-03-01T10:00:00+00:00",
            "completed_at": "2026-03-01T10:00:30+00:00",
        },
        "samples": list(samples),
        **others,
    }


def write_json_log(path: Path, log: Mapping[str, Any]) -> Path:
    """Write a `.json` log, with `NaN` as inspect_ai writes it."""
    path.write_text(json.dumps(log, indent=2), encoding="utf-8")
    return path


def write_eval_log(path: Path, log: Mapping[str, Any], *, zstandard: bool = False) -> Path:
    """Write an `.eval` log; with `zstandard`, compressed as inspect_ai does it."""
    members = {f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in log.get("samples", ())}
    members |= {"reductions.json": log["reductions"]} if "reductions" in log else {}
    members["header.json"] = {
        name: value for name, value in log.items() if name not in ("samples", "reductions")
    }
    contents = {name: json.dumps(value).encode() for name, value in members.items()}
    if zstandard:
        path.write_bytes(_zip_zstandard(contents))
        return path
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


def _zip_zstandard(contents: Mapping[str, bytes]) -> bytes:
    """Return a zip archive of this compression, which the standard library does not write.

    Each member has two frames, as long ones of inspect_ai do.
    """
    codec = pytest.importorskip("pyarrow").Codec("zstd")
    body, directory = b"", b""
    for name, content in contents.items():
        half = len(content) // 2
        packed = b"".join(codec.compress(part, asbytes=True) for part in (content[:half], content[half:]))
        facts = struct.pack(
            "<HHHHHIIIHH", 63, 0, 93, 0, 0x21, zlib.crc32(content), len(packed), len(content), len(name), 0
        )
        directory += (
            b"PK\x01\x02" + struct.pack("<H", 63) + facts + struct.pack("<HHHII", 0, 0, 0, 0, len(body))
        )
        directory += name.encode()
        body += b"PK\x03\x04" + facts + name.encode() + packed
    count = len(contents)
    end = struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end
