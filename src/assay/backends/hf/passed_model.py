"""Backend for a model that the calling program has loaded: `model=(model, tokenizer)`.

The weights are used where they are. A training loop gets its model back as it was: the same modes, attention
and random state, and no tensors that autograd could not use.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from assay.backends.hf.backend import HfBackend
from assay.backends.hf.compile_timing import watch_compilations
from assay.backends.hf.compiled_programs import prepare_kernels
from assay.backends.hf.loaded_model import LoadedModel
from assay.backends.hf.loading import inspect_passed_model
from assay.backends.hf.weight_hash import hash_weights
from assay.backends.problems import argument_error
from assay.core.ids import digest
from assay.core.media import Medium
from assay.core.model import ModelCard, ModelIdentity
from assay.core.time_profile import measuring

_CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length")
_OF_FILES = (
    *("dtype", "device", "revision", "trust_remote_code", "device_map", "load_in_4bit", "load_in_8bit"),
    *("lora", "attn"),
)
"""Arguments that decide how files are loaded."""


class PassedFiles:
    """What a loaded model and its tokenizer say about themselves, in place of files."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self._model = model
        self._tokenizer = tokenizer

    @property
    def chat_template(self) -> str | None:
        """Return the tokenizer's template."""
        template = self._tokenizer.chat_template
        if isinstance(template, dict):
            template = template.get("default")
        return template if isinstance(template, str) else None

    @property
    def named_templates(self) -> Mapping[str, str]:
        """Return the tokenizer's templates, if it has several."""
        templates = self._tokenizer.chat_template
        return templates if isinstance(templates, dict) else {}

    @property
    def context_length(self) -> int | None:
        """Return the maximum number of tokens in the model's configuration."""
        config = self._model.config.get_text_config()
        lengths = (getattr(config, key, None) for key in _CONTEXT_KEYS)
        return next((length for length in lengths if isinstance(length, int)), None)

    @property
    def dtype(self) -> str:
        """Return the number type of the weights."""
        return str(self._model.dtype).removeprefix("torch.")

    @property
    def media(self) -> frozenset[Medium]:
        """Return no media: they need a processor."""
        return frozenset()

    def weights(self) -> str:
        """Return the hash of weights, configuration and tokenizer."""
        return digest(dict(self.hashes), size=16)

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """Return the hash of each part."""
        config = self._model.config.to_json_string(use_diff=False)
        return {
            "weights": hash_weights(self._model),
            "structure": digest(str(self._model)),
            "config": digest(_drop_places(config)),
            "tokenizer": digest(self._tokenizer.backend_tokenizer.to_str(), size=16),
        }

    @property
    def notes(self) -> Sequence[str]:
        """Return no notes."""
        return ()

    def tokenizer_source(self) -> Path:
        """Raise: the tokenizer is passed too."""
        raise NotImplementedError

    def prepare_path(self) -> Path:
        """Raise: there is nothing to load."""
        raise NotImplementedError


def _drop_places(config: str) -> str:
    """Return a configuration without the lines that do not change answers."""
    ignored = ('"_name_or_path"', '"transformers_version"', '"_attn_implementation', '"use_cache"')
    return "\n".join(line for line in config.splitlines() if not line.strip().startswith(ignored))


class PassedModelBackend(HfBackend):
    """A causal language model that is already in memory."""

    kind = "python"

    def __init__(self, where: str, model: Any, tokenizer: Any, args: Mapping[str, str]) -> None:
        """Check the arguments; computes nothing."""
        if given := [name for name in _OF_FILES if name in args]:
            what = f"model_args: {given[0]} decides how a model is loaded, but this model is loaded already"
            raise argument_error(what, f"remove {given[0]}")
        self._model = _unwrap(model)
        self._passed_tokenizer = tokenizer
        self._before: _State | None = None
        super().__init__(where, args, files=PassedFiles(self._model, tokenizer))

    @cached_property
    def card(self) -> ModelCard:
        """Return the model's abilities. Hooks can change answers in ways that no hash shows."""
        return msgspec.structs.replace(super().card, is_cacheable=not _has_hooks(self._model))

    def identity(self) -> ModelIdentity:
        """Return the hash of the weights as they are now, so that a trained model has no old answers."""
        with measuring("hash"):
            identity = super().identity()
        if _has_hooks(self._model):
            return msgspec.structs.replace(identity, server="unknown")
        return identity

    def notes(self) -> Sequence[str]:
        """Return notes about changed prompts and slow parts, and about hooks."""
        hooks = f"{self._name} has forward hooks, so its answers are not kept in the cache"
        return (*super().notes(), *([hooks] if _has_hooks(self._model) else []))

    @cached_property
    def _device(self) -> str:
        return str(self._model.device)

    @cached_property
    def _dtype(self) -> str:
        return str(self._model.dtype).removeprefix("torch.")

    @cached_property
    def _tokenizer(self) -> Any:
        # A copy: the caller's may pad and truncate, and its template may be replaced.
        tokenizer = copy.deepcopy(self._passed_tokenizer)
        tokenizer.backend_tokenizer.no_truncation()
        tokenizer.backend_tokenizer.no_padding()
        if self._file_args.chat_template is not None:
            tokenizer.chat_template = self._template
        return tokenizer

    def _load(self) -> LoadedModel:
        if self._loaded is None:
            self._before = _State(self._model)
            self._model.eval()
            with measuring("load"):
                prepare_kernels(self._device)
                self._loaded = inspect_passed_model(self._model, self._name)
                if self._loaded.has_kernels:
                    watch_compilations()
        return self._loaded

    def close(self) -> None:
        """Return the model as it was; keep its weights."""
        super().close()
        if self._before is not None:
            self._before.restore()
            self._before = None


class _State:
    """The state of a model that an evaluation changes."""

    def __init__(self, model: Any) -> None:
        import torch

        self._model = model
        self._modes = {module: module.training for module in model.modules()}
        self._attention = model.config._attn_implementation
        self._random = torch.get_rng_state()
        has_gpu = torch.cuda.is_available() and torch.cuda.is_initialized()
        self._gpu_random = torch.cuda.get_rng_state_all() if has_gpu else []
        kinds = dict.fromkeys(("cpu", model.device.type))
        self._autocast = {kind: torch.is_autocast_enabled(kind) for kind in kinds}
        for kind in self._autocast:
            # Numbers must not depend on whether the caller trains in mixed precision.
            torch.set_autocast_enabled(kind, False)

    def restore(self) -> None:
        """Bring the model and the random generators back to this state."""
        import torch

        for module, is_training in self._modes.items():
            module.training = is_training
            _replace_inference_tensors(module)
        if self._model.config._attn_implementation != self._attention:
            self._model.set_attn_implementation(self._attention)
        torch.set_rng_state(self._random)
        if self._gpu_random:
            torch.cuda.set_rng_state_all(self._gpu_random)
        for kind, is_on in self._autocast.items():
            torch.set_autocast_enabled(kind, is_on)


def _replace_inference_tensors(module: Any) -> None:
    """Replace tensors that a module computed in inference mode: autograd cannot save them."""
    import torch

    for holder in (module._buffers, module.__dict__):
        for name, value in list(holder.items()):
            if isinstance(value, torch.Tensor) and value.is_inference():
                holder[name] = value.clone()


def _unwrap(model: Any) -> Any:
    """Return the model inside `torch.compile` and data-parallel wrappers."""
    while True:
        inner = next(_list_wrapped(model), None)
        if inner is None:
            return model
        model = inner


def _list_wrapped(model: Any) -> Iterator[Any]:
    if hasattr(model, "_orig_mod"):
        yield model._orig_mod
    if type(model).__name__ in ("DataParallel", "DistributedDataParallel"):
        yield model.module


def _has_hooks(model: Any) -> bool:
    """Return whether code outside the model can change what its modules compute."""
    return any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
