"""A real server: vLLM's, in a process of its own.

vLLM has an environment of its own, as its versions of other packages are not ours. `ASSAY_VLLM_PYTHON` names
the Python of it; `make test-vllm` makes one.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

VARIABLE = "ASSAY_VLLM_PYTHON"
_START_S = 300


@contextmanager
def vllm_server(folder: Path, log: Path) -> Iterator[str]:
    """Serve the model in a folder as `tiny` until the block ends; yield the address up to /v1."""
    python = os.environ.get(VARIABLE)
    if python is None:
        pytest.skip(f"{VARIABLE} does not name a Python that has vLLM")
    port = _free_port()
    command = [
        python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder),
        "--served-model-name", "tiny", "--dtype", "float32", "--max-model-len", "256", "--enforce-eager",
        "--host", "127.0.0.1", "--port", str(port),
    ]  # fmt: skip
    # Threads that wait for each other crawl on a machine that does other work too.
    settings = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1"}
    mine = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with open(log, "wb") as message:
        process = subprocess.Popen(
            command, stdout=message, stderr=message, env={**mine, **settings, "HF_HUB_OFFLINE": "1"}
        )
    try:
        _wait_for(process, f"http://127.0.0.1:{port}/health", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(timeout=60)


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def _wait_for(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(1)
    raise AssertionError(f"vLLM did not start: {log.read_text(encoding='utf-8', errors='replace')[-2000:]}")
