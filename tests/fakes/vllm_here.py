"""Tests of vLLM's engine run in an environment that has it: `make test-vllm` makes one."""

from __future__ import annotations

import importlib.util

import pytest

SETTINGS = {"kv_cache_gib": "0.25"}
"""Little memory: other tests want some too."""


def require_vllm() -> None:
    """Skip what needs vLLM where it is not installed."""
    if importlib.util.find_spec("vllm") is None:
        pytest.skip("vLLM is not installed here: `make test-vllm` has an environment that has it")
