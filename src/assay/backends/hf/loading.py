"""Loads a model and its tokenizer without console output, and finds out how to get logits from it.

The only file that calls transformers' loaders. The result is checked: missing weights, logits that are not
finite and models that look ahead are an error and never a score.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any

from assay.backends.hf.batching import is_out_of_memory
from assay.backends.hf.compiled_programs import prepare_kernels
from assay.backends.hf.device_placement import check_device, keep_freed_memory
from assay.backends.hf.gguf_header import read_header
from assay.backends.hf.loaded_model import LoadedModel
from assay.backends.hf.transformers_imports import import_transformers
from assay.backends.hf.weight_options import AS_STORED, WeightOptions
from assay.backends.local.hub_problems import remote_code_error
from assay.backends.problems import load_error, out_of_memory_error
from assay.core.errors import BackendError, listing
from assay.core.media import Medium
from assay.core.time_profile import measuring

_CANARY_TOKENS = 8
_FP32_TOLERANCE = 1e-3
_HALF_TOLERANCE = 0.05
"""How much logits may change, relative to their size, when a later token changes: only by rounding."""

_DIGITS_APART = frozenset({"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"})
"""GGUF pre-tokenizers that split off every digit. transformers reads such files without that step. Then a
blank line or two spaces before a digit become other tokens than those the model was trained on."""


def check_model_type(config: Mapping[str, Any], name: str, *, trust_remote_code: bool) -> None:
    """Raise if transformers does not support a model, before weights are downloaded."""
    kind, own = config.get("model_type"), config.get("auto_map") or {}
    if not isinstance(kind, str) or (own and trust_remote_code):
        return
    with measuring("import"):
        from transformers import __version__
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    if kind in CONFIG_MAPPING_NAMES:
        return
    if own:
        raise remote_code_error(
            f"{name} needs its own code ({listing(sorted(set(map(str, own.values()))))}): "
            f"transformers {__version__} does not support the model type {kind!r}",
            "read that code, and if you trust it, add --model-arg trust_remote_code=true; pin a commit, "
            "so that the code cannot change",
        )
    raise load_error(
        f"{name} has the model type {kind!r}, which transformers {__version__} does not support",
        "upgrade transformers, or use the version named on the model's page",
    )


def load_tokenizer(source: Path, *, chat_template: str | None = None, trust_remote_code: bool = False) -> Any:
    """Return the tokenizer of a folder or a GGUF file."""
    with _silencing_loaders(), _wrapping_errors(f"the tokenizer of {source} does not load"):
        import_transformers()
        from transformers import AutoTokenizer, PreTrainedTokenizerFast

        if source.suffix == ".gguf":
            with _silencing_gguf_loader():
                tokenizer = PreTrainedTokenizerFast.from_pretrained(source.parent, gguf_file=source.name)
            _split_digits(tokenizer, source)
        else:
            tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=trust_remote_code)
    if not getattr(tokenizer, "is_fast", False):
        raise load_error(
            f"the tokenizer of {source} is not a fast tokenizer: it cannot report token positions",
            "add its tokenizer.json to the folder",
        )
    if chat_template is not None:
        tokenizer.chat_template = chat_template
    return tokenizer


def load_processor(source: Path, *, trust_remote_code: bool = False) -> Any:
    """Return the processor that prepares media for the model in a folder.

    Images are processed with Pillow if the family allows it, whatever else is installed: another library
    would scale them to other pixels, which changes answers.
    """
    with _silencing_loaders(), _wrapping_errors(f"the processor of {source} does not load"):
        from transformers import AutoProcessor

        return AutoProcessor.from_pretrained(source, backend="pil", trust_remote_code=trust_remote_code)


def load_model(
    source: Path,
    *,
    dtype: str,
    device: str,
    attn: str | None = None,
    trust_remote_code: bool = False,
    media: frozenset[Medium] = frozenset(),
    weights: WeightOptions = AS_STORED,
) -> LoadedModel:
    """Return the model in a folder or a GGUF file, loaded and checked; `media` are those it accepts."""
    import_transformers()
    import torch

    check_device(device)
    if device == "cpu":
        keep_freed_memory()
    else:
        prepare_kernels(device)
    with _silencing_loaders(), _wrapping_errors(f"{source} does not load"):
        more = weights.options(device, getattr(torch, dtype))
        more |= {"attn_implementation": attn} if attn else {}
        if source.suffix == ".gguf":
            model = _load_gguf(source, getattr(torch, dtype), more)
        else:
            if not weights.is_placed and device != "cpu" and find_spec("accelerate") is not None:
                # Each tensor goes from the file to the device, without a copy of the model in memory.
                more |= {"device_map": {"": device}}
            model = _load_folder(source, getattr(torch, dtype), trust_remote_code, media, more)
        model = model if weights.is_placed else model.to(device)
        model = weights.apply_adapter(model).eval()
        first = model.get_input_embeddings().weight.device if weights.is_placed else torch.device(device)
        return _inspect_model(model, first)


def inspect_passed_model(model: Any, name: str) -> LoadedModel:
    """Return a model that is already in memory, checked."""
    with _wrapping_errors(f"{name} cannot be evaluated"):
        loaded = _inspect_model(model, model.get_input_embeddings().weight.device)
        loaded.is_passed = True
        return loaded


def load_encoder(folder: Path) -> Any:
    """Return the model in a folder that turns tokens into vectors, in float32 on the CPU."""
    with _silencing_loaders(), _wrapping_errors(f"{folder} does not load"):
        import torch
        from transformers import AutoModel

        model, report = AutoModel.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
        # Many checkpoints omit the pooler head for whole texts; vectors come from the tokens.
        _check_complete(name for name in report["missing_keys"] if "pooler" not in name)
        return model.eval()


def save_converted(gguf: Path, folder: Path) -> None:
    """Write a GGUF file's model and tokenizer as a folder of full-precision weights."""
    with _silencing_loaders(), _wrapping_errors(f"{gguf} does not load"):
        from safetensors.torch import save_file
        from transformers import GenerationConfig

        config, empty, tensors = _unpack_gguf(gguf)
        config.architectures = [type(empty).__name__]
        config.dtype = "float32"
        config.save_pretrained(folder)
        GenerationConfig.from_model_config(config).save_pretrained(folder)
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        load_tokenizer(gguf).save_pretrained(folder)


def _load_folder(
    folder: Path, dtype: Any, trust_remote_code: bool, media: frozenset[Medium], more: dict[str, Any]
) -> Any:
    import transformers

    loader = transformers.AutoModelForCausalLM
    if Medium.AUDIO in media:
        loader = transformers.AutoModelForMultimodalLM
    elif media:
        loader = transformers.AutoModelForImageTextToText
    model, report = loader.from_pretrained(
        folder, dtype=dtype, trust_remote_code=trust_remote_code, output_loading_info=True, **more
    )
    _check_complete(report["missing_keys"])
    return model


def _check_complete(missing: Iterable[str]) -> None:
    """Raise if weights are missing: transformers fills them with random numbers and only warns."""
    if names := sorted(missing):
        raise ValueError(f"the weight files do not contain {listing(names, at_most=4)}")


def _load_gguf(path: Path, dtype: Any, more: dict[str, Any]) -> Any:
    from transformers import AutoModelForCausalLM

    config, _, tensors = _unpack_gguf(path)
    model = AutoModelForCausalLM.from_config(config, dtype=dtype, **more)
    model.load_state_dict(tensors, strict=False)
    model.tie_weights()
    return model


def _unpack_gguf(gguf: Path) -> tuple[Any, Any, dict[str, Any]]:
    """Return a GGUF file's configuration, a model without memory, and all weights in full precision.

    transformers' own function would need accelerate, which nothing else here needs.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    with _silencing_gguf_loader() as loader:
        config = AutoConfig.from_pretrained(gguf.parent, gguf_file=gguf.name)
        with torch.device("meta"):
            empty = AutoModelForCausalLM.from_config(config)
        tensors = loader.load_gguf_checkpoint(str(gguf), return_tensors=True, model_to_load=empty)["tensors"]
    tied = set(getattr(empty, "_tied_weights_keys", None) or ()) if config.tie_word_embeddings else set()
    if missing := sorted(set(empty.state_dict()) - set(tensors) - tied):
        raise ValueError(f"the file does not contain {listing(missing, at_most=4)}")
    return config, empty, tensors


def _split_digits(tokenizer: Any, gguf: Path) -> None:
    """Restore the step that splits digits, if the file says that the model was trained with it."""
    if read_header(gguf).get("tokenizer.ggml.pre") not in _DIGITS_APART:
        return
    from tokenizers import pre_tokenizers

    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )


def _inspect_model(model: Any, device: Any) -> LoadedModel:
    """Find the way to logits: some families scale or cap them after the head, which must be kept."""
    import torch

    takes = frozenset(signature(model.forward).parameters)
    if "past_key_values" not in takes:
        raise ValueError(f"{type(model).__name__} has no key-value cache; such models are not supported yet")
    body, head = getattr(model, "base_model", None), model.get_output_embeddings()
    vocab_size = int(model.get_input_embeddings().weight.shape[0])
    # Two rows that differ only in their last token.
    ids = torch.arange(_CANARY_TOKENS, device=device).repeat(2, 1) % vocab_size
    ids[1, -1] = (ids[1, -1] + vocab_size // 2) % vocab_size
    with torch.inference_mode():
        whole = model(input_ids=ids, use_cache=False).logits.float()
        if not torch.isfinite(whole).all():
            raise ValueError("its logits are not finite; try dtype=bfloat16 or dtype=float32")
        if _looks_ahead(whole, model.dtype):
            raise ValueError(
                f"{type(model).__name__} is not causal: it reads later tokens, so it cannot score or generate"
            )
        is_spread = len(set(getattr(model, "hf_device_map", {"": device}).values())) > 1
        # A head on another device, or with quantised weights, cannot be applied to some of the positions.
        is_plain = body is not None and body is not model and not is_spread
        is_plain = is_plain and hasattr(head, "weight") and head.weight.is_floating_point()
        if is_plain:
            apart = _compute_separately(body, head, ids)
            # The same operations on the same shapes: any real difference is a step after the head.
            is_plain = apart is not None and apart.shape == whole.shape
            is_plain = is_plain and torch.allclose(apart, whole, rtol=1e-3, atol=1e-3)
    return LoadedModel(
        model,
        device,
        body if is_plain else None,
        head,
        takes,
        vocab_size,
        _window(model.config),
        makes_cache=_has_own_cache(model),
        is_stateful=_is_stateful(model) or _has_own_cache(model),
        is_spread=is_spread,
    )


def _has_own_cache(model: Any) -> bool:
    """Return whether the model accepts only its family's own cache class, by its signature."""
    parameter = signature(model.base_model.forward).parameters.get("past_key_values")
    return parameter is not None and f"{model.config.model_type}cache" in str(parameter.annotation).lower()


def _is_stateful(model: Any) -> bool:
    """Return whether a layer stores anything other than keys and values: a recurrence, a convolution."""
    from transformers import DynamicCache

    layers = DynamicCache(config=model.config).layers
    # A layer without keys and values cannot be reduced to some of the rows either.
    return bool(model._is_stateful) or any(not hasattr(layer, "batch_select_indices") for layer in layers)


def _looks_ahead(logits: Any, dtype: Any) -> bool:
    """Return whether the logits before the last token depend on it: the model is not causal."""
    import torch

    one, other = logits[0, :-1], logits[1, :-1]
    moved = float(((one - other).norm(dim=-1) / one.norm(dim=-1).clamp(min=1e-6)).max())
    return moved > (_FP32_TOLERANCE if dtype == torch.float32 else _HALF_TOLERANCE)


def _window(config: Any) -> int | None:
    """Return the shortest window to which any layer's attention is limited."""
    text = config.get_text_config()
    lengths = [getattr(text, "attention_chunk_size", None)]
    if getattr(text, "use_sliding_window", True):
        lengths.append(getattr(text, "sliding_window", None))
    if "local" in getattr(text, "attention_layers", ()):  # GPT-Neo's name for it.
        lengths.append(text.window_size)
    return min((length for length in lengths if length), default=None)


def _compute_separately(body: Any, head: Any, ids: Any) -> Any:
    """Return head(body(x)); None if the body returns no hidden states."""
    hidden = getattr(body(input_ids=ids, use_cache=False), "last_hidden_state", None)
    if hidden is None or hidden.shape[-1] != head.weight.shape[-1]:
        return None
    return head(hidden).float()


@contextmanager
def _silencing_loaders() -> Iterator[None]:
    """Suppress progress bars and advice of loaders; errors are still raised."""
    with measuring("import"):
        from transformers.utils import logging

    level, had_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if had_bars:
            logging.enable_progress_bar()


@contextmanager
def _silencing_gguf_loader() -> Iterator[Any]:
    """Suppress the bar of transformers' GGUF loader; yield the loader's module, which imports torch."""
    from transformers import modeling_gguf_pytorch_utils as loader

    bar, loader.tqdm = loader.tqdm, _skip_bar
    try:
        yield loader
    finally:
        loader.tqdm = bar


def _skip_bar(items: Any, **_: Any) -> Any:
    return items


@contextmanager
def _wrapping_errors(what: str) -> Iterator[None]:
    """Turn any error of a loader into MODEL-005 or MODEL-006, with its own message."""
    try:
        yield
    except BackendError:
        raise
    except Exception as trouble:  # Loaders and a checkpoint's own code may raise anything.
        if is_out_of_memory(trouble):
            raise out_of_memory_error(
                f"{what}: memory ran out while reading the weights",
                "use a smaller model, or --model-arg dtype=bfloat16",
            ) from trouble
        message = (str(trouble).strip() or type(trouble).__name__).splitlines()[0]
        raise load_error(f"{what}: {type(trouble).__name__}: {message}", _advice(trouble)) from trouble


def _advice(trouble: Exception) -> str:
    if "trust_remote_code" in str(trouble):
        return "the model needs its own code; if you trust it, add --model-arg trust_remote_code=true"
    if isinstance(trouble, ImportError):
        return "install the named package"
    return "check that the files are complete and that the installed transformers supports this model"
