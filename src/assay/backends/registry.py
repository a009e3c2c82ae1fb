"""Names of backends, and the functions that open a model named on the command line.

    MODEL = backend[:where[@url]]      smollm2 · mock · hf:/folder · hf:org/name@revision · hf:/path/x.gguf
                                       vllm:/folder · vllm:org/name@revision
                                       openai:model@http://host:port/v1 · ultraeval:http://host:port/infer
                                       tgi:@http://host:port · triton:model@http://host:port
                                       anthropic:model[@url] · gemini:model[@url]
                                       litellm:provider/model[@url]

The table contains strings, so that naming a backend does not import it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from assay.backends.problems import argument_error, unknown_model_error
from assay.core.errors import listing, suggest_name
from assay.core.ports import Backend, TimedClient
from assay.core.secrets import mask_user_info

BACKENDS: dict[str, str] = {
    "anthropic": "assay.backends.providers.backend:AnthropicBackend",
    "gemini": "assay.backends.providers.backend:GeminiBackend",
    "hf": "assay.backends.hf.backend:HfBackend",
    "litellm": "assay.backends.providers.litellm_backend:LitellmBackend",
    "mock": "assay.backends.mock:MockBackend",
    "openai": "assay.backends.openai.backend:OpenAIBackend",
    "python": "assay.backends.python.opening:open_python_model",
    "smollm2": "assay.backends.hf.embedded_model:SmolLM2Backend",
    "tgi": "assay.backends.http.generate_server:TgiBackend",
    "triton": "assay.backends.http.generate_server:TritonBackend",
    "ultraeval": "assay.backends.http.infer_server:InferServerBackend",
    "vllm": "assay.backends.vllm.backend:VllmBackend",
}
"""Name -> `module:Class`, or a function; it is called with (where, args)."""
TIMED_CLIENTS: dict[str, str] = {
    "anthropic": "assay.backends.providers.backend:AnthropicTimedClient",
    "gemini": "assay.backends.providers.backend:GeminiTimedClient",
    "openai": "assay.backends.openai.timed_client:OpenAITimedClient",
    "tgi": "assay.backends.http.generate_server:TgiTimedClient",
    "triton": "assay.backends.http.generate_server:TritonTimedClient",
}


SERVERS = ("anthropic", "gemini", "litellm", "openai", "tgi", "triton", "ultraeval")
"""Backends that send requests to a server; they accept the argument `concurrency`."""

CONCURRENT = (*SERVERS, "python")
"""Backends that accept the argument `concurrency`."""

LOCAL = ("hf", "smollm2", "vllm")
"""Backends that read a model's files and render its chat template here."""
THINKING = (*LOCAL, "anthropic", "gemini", "litellm", "mock", "openai", "python")
"""Backends whose models can be asked to think; they accept the argument `thinking`."""


def open_backend(model: str, args: Mapping[str, str], *, concurrency: int | None = None) -> Backend:
    """Return the backend for a model name. Checks that files and packages exist, but loads nothing.

    `concurrency`: the maximum number of concurrent requests to a server, from `--concurrency`.
    """
    name, _, where = model.partition(":")
    if name not in BACKENDS:
        raise unknown_model_error(*_advice(model, name))
    if concurrency is not None:
        args = _add_concurrency(name, args, concurrency)
    module, _, cls = BACKENDS[name].partition(":")
    backend: Backend = getattr(import_module(module), cls)(where, args)
    return backend


def open_pinned(model: str, args: Mapping[str, str], commit: str | None) -> Backend:
    """Return the backend for a model name, pinned to the hub commit that the run resolved."""
    backend = open_backend(model, args)
    if commit is not None:
        from assay.backends.local.local_model import LocalModel

        assert isinstance(backend, LocalModel)  # Only local models come from the hub.
        backend.pin(commit)
    return backend


def _add_concurrency(name: str, args: Mapping[str, str], number: int) -> dict[str, str]:
    """Return the arguments with the concurrency added; raise MODEL-002 if the backend does not accept it."""
    if name not in CONCURRENT:
        what = f"--concurrency {number}: {name} does not send requests to a server"
        raise argument_error(what, "omit --concurrency; `assay run` chooses the batch size")
    if args.get("concurrency", str(number)) != str(number):
        what = f"--concurrency {number} and the model argument concurrency={args['concurrency']} differ"
        raise argument_error(what, "use only one of them")
    return {**args, "concurrency": str(number)}


def open_timed_client(model: str, args: Mapping[str, str]) -> TimedClient:
    """Return the client that measures a model's server; only servers can be measured."""
    name, _, where = model.partition(":")
    if name not in TIMED_CLIENTS:
        if name not in BACKENDS:
            raise unknown_model_error(*_advice(model, name))
        raise unknown_model_error(
            f"{mask_user_info(model)!r} is not a server: only servers can be benchmarked",
            "write openai:MODEL@http://127.0.0.1:8000/v1",
        )
    module, _, cls = TIMED_CLIENTS[name].partition(":")
    client: TimedClient = getattr(import_module(module), cls)(where, args)
    return client


def _is_path(model: str) -> bool:
    try:
        return bool(model) and Path(model).expanduser().exists()
    except (OSError, ValueError, RuntimeError):  # Too long, contains NUL, or `~name` of an unknown user.
        return False


def _advice(model: str, name: str) -> tuple[str, str]:
    """Return what is wrong with a model name without a backend, and what to write instead."""
    known, model, name = (
        listing(sorted(BACKENDS.keys() - {"python"})),
        mask_user_info(model),
        mask_user_info(name),
    )
    if _is_path(model):
        return f"{model!r} is a path, but the prefix that names the backend is missing", f"write hf:{model}"
    if "/" in model and ":" not in model:
        return f"{model!r} does not name a backend", f"write hf:{model} for a folder or a hub repository"
    suggestion = suggest_name(name, BACKENDS)
    if ":" not in model and not suggestion:
        fix = f"write the backend first, such as hf:{model} or openai:{model}@URL; the backends are {known}"
        return f"{model!r} does not name a backend", fix
    return f"unknown backend {name!r}{suggestion}", f"use one of: {known}"
