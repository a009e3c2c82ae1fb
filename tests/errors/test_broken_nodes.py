"""A worker whose files differ from the run's under the same name is distinguished from one with equal files.

Workers here are real, and started after the files have changed: as one that replaces another, or that is on
another node. Weights are never read, so that none are needed.
"""

from __future__ import annotations

import json
import os
import platform
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.app.open_model import open_model
from assay.app.settings import RunSettings
from assay.core.errors import BackendError
from assay.core.request import Generate, Sampling, make_request

ASK = make_request("t", "s", "gen", "answer", 0, Generate("x", Sampling(max_tokens=1)))


@pytest.fixture(autouse=True)
def _packages(workdir: Path, empty_cache: None) -> None:
    pytest.importorskip("transformers", reason="the hf extra is not installed")


def folder() -> Path:
    Path("model").mkdir()
    Path("model/config.json").write_text(json.dumps({"max_position_embeddings": 64}))
    Path("model/model-1.safetensors").write_bytes(b"weights")
    Path("model/tokenizer.json").write_text("{}")
    Path("model/chat_template.jinja").write_text("{{ messages }}")
    return Path("model")


def gguf() -> Path:
    name, value = (struct.pack("<Q", len(text)) + text for text in (b"general.architecture", b"llama"))
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + name + struct.pack("<I", 8) + value
    Path("x.gguf").write_bytes(head + b"weights")
    return Path("x.gguf")


def rewritten(path: Path, old: str, new: str) -> None:
    """Change a file, but neither its size nor the time that it says it was changed at."""
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(old.encode(), new.encode()))
    while path.stat().st_ctime_ns == before.st_ctime_ns or path.stat().st_mtime_ns != before.st_mtime_ns:
        # The clock of a file system ticks some hundred times a second.
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    ("made", "change", "message"),
    [
        (folder, lambda at: rewritten(at / "model-1.safetensors", "w", "W"), "model-1.safetensors is "),
        (folder, lambda at: rewritten(at / "tokenizer.json", "{}", "[]"), "tokenizer.json is "),
        (folder, lambda at: rewritten(at / "config.json", "64", "32"), "config.json is "),
        (folder, lambda at: (at / "model-2.safetensors").write_bytes(b"more"), "model-2.safetensors is "),
        (folder, lambda at: (at / "generation_config.json").write_text("{}"), "generation_config.json is "),
        (folder, lambda at: (at / "chat_template.jinja").write_text("other"), "the chat template is "),
        (folder, lambda at: (at / "chat_template.jinja").unlink(), "the chat template is missing"),
        (gguf, lambda at: rewritten(at, "weights", "Weights"), "x.gguf is "),
    ],
    ids=["weights", "tokenizer", "config", "shard", "generation", "template", "no template", "gguf"],
)
def test_another_model_under_the_same_name(
    made: Callable[[], Path], change: Callable[[Path], object], message: str
) -> None:
    path = made()
    backend = open_model(RunSettings(model=f"hf:{path}", workers=1))
    try:
        backend.identity()
        change(path)
        with pytest.raises(BackendError) as caught:
            list(backend.run([ASK]))
    finally:
        backend.close()
    (problem,) = caught.value.problems
    assert problem.code == "WORKER-009"
    begins = f"a worker on {platform.node()} has another model under hf:{path} than the run: {message}"
    assert problem.what.startswith(begins)
    assert ", in the run " in problem.what
    assert "storage that all nodes share" in problem.fix
