"""Reading a model and its tokenizer into memory, quietly, and finding out how to get logits from it.

The only file that calls transformers' loaders. What comes out is checked: weights that were missing, or
logits that are not numbers or that look ahead, are an error and never a score.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

from assay.backends.hf.batching import is_out_of_memory
from assay.backends.hf.device_placement import check_device, keep_freed_memory
from assay.backends.hf.gguf_header import read_header
from assay.backends.hf.loaded_model import LoadedModel
from assay.backends.local.hub_problems import remote_code_error
from assay.backends.problems import load_error, out_of_memory_error
from assay.core.errors import BackendError, listing
from assay.core.media import Medium

_CANARY_TOKENS = 8
_FP32_TOLERANCE = 1e-3
_HALF_TOLERANCE = 0.05
"""How far logits may move, as a share of their size, when a later token changes: rounding, and no more."""

_DIGITS_APART = frozenset({"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"})
"""GGUF pre-tokenizers that split every digit off. transformers reads such files without that step, and then
a blank line or two spaces before a digit become other tokens than the model was trained on."""


def check_model_type(config: Mapping[str, Any], name: str, *, trust_remote_code: bool) -> None:
    """Raise where transformers has no code of its own for a model, before weights are fetched."""
    kind, own = config.get("model_type"), config.get("auto_map") or {}
    if not isinstance(kind, str) or (own and trust_remote_code):
        return
    from transformers import __version__
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    if kind in CONFIG_MAPPING_NAMES:
        return
    if own:
        raise remote_code_error(
            f"{name} needs code that comes with it ({listing(sorted(set(map(str, own.values()))))}): "
            f"transformers {__version__} has none for the model type {kind!r}",
            "read that code, and if you trust it add --model-arg trust_remote_code=true; name a commit, "
            "so that the code cannot change",
        )
    raise load_error(
        f"{name} is of the model type {kind!r}, which transformers {__version__} does not know",
        "upgrade transformers, or use the version that the model's page names",
    )


def load_tokenizer(source: Path, *, chat_template: str | None = None, trust_remote_code: bool = False) -> Any:
    """Return the tokenizer of a folder or a GGUF file."""
    with _silencing_loaders(), _wrapping_errors(f"the tokenizer of {source} does not load"):
        from transformers import AutoTokenizer, PreTrainedTokenizerFast

        if source.suffix == ".gguf":
            tokenizer = PreTrainedTokenizerFast.from_pretrained(source.parent, gguf_file=source.name)
            _split_digits(tokenizer, source)
        else:
            tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=trust_remote_code)
    if not getattr(tokenizer, "is_fast", False):
        raise load_error(
            f"the tokenizer of {source} cannot say where in the text its tokens lie: it is not a fast one",
            "add its tokenizer.json to the folder",
        )
    if chat_template is not None:
        tokenizer.chat_template = chat_template
    return tokenizer


def load_processor(source: Path, *, trust_remote_code: bool = False) -> Any:
    """Return what makes media ready for the model of a folder.

    Pictures go through Pillow where the family allows it, whatever else is installed: another way to scale
    them gives other pixels, and those other answers.
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
) -> LoadedModel:
    """Return the model of a folder or a GGUF file, in memory and checked; `media` is what it takes."""
    import torch

    check_device(device)
    if device == "cpu":
        keep_freed_memory()
    with _silencing_loaders(), _wrapping_errors(f"{source} does not load"):
        more = {"attn_implementation": attn} if attn else {}
        if source.suffix == ".gguf":
            model = _load_gguf(source, getattr(torch, dtype), more)
        else:
            model = _load_folder(source, getattr(torch, dtype), trust_remote_code, media, more)
        model = model.to(device).eval()
        return _inspect_model(model, torch.device(device))


def load_encoder(folder: Path) -> Any:
    """Return the model of a folder that turns tokens into vectors, in float32 on the CPU."""
    with _silencing_loaders(), _wrapping_errors(f"{folder} does not load"):
        import torch
        from transformers import AutoModel

        model, report = AutoModel.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
        # A head of its own for whole texts, which many checkpoints leave out; vectors come from tokens.
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
    folder: Path, dtype: Any, trust_remote_code: bool, media: frozenset[Medium], more: dict[str, str]
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
    """Raise when weights were not found: transformers fills them with random numbers and only warns."""
    if names := sorted(missing):
        raise ValueError(f"the weight files lack {listing(names, at_most=4)}")


def _load_gguf(path: Path, dtype: Any, more: dict[str, str]) -> Any:
    from transformers import AutoModelForCausalLM

    config, _, tensors = _unpack_gguf(path)
    model = AutoModelForCausalLM.from_config(config, dtype=dtype, **more)
    model.load_state_dict(tensors, strict=False)
    model.tie_weights()
    return model


def _unpack_gguf(gguf: Path) -> tuple[Any, Any, dict[str, Any]]:
    """Return a GGUF file's configuration, a model without memory, and every weight in full precision.

    transformers' own way to the same would need accelerate, and nothing else here does.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    config = AutoConfig.from_pretrained(gguf.parent, gguf_file=gguf.name)
    with torch.device("meta"):
        empty = AutoModelForCausalLM.from_config(config)
    tensors = load_gguf_checkpoint(str(gguf), return_tensors=True, model_to_load=empty)["tensors"]
    tied = set(getattr(empty, "_tied_weights_keys", None) or ()) if config.tie_word_embeddings else set()
    if missing := sorted(set(empty.state_dict()) - set(tensors) - tied):
        raise ValueError(f"the file lacks {listing(missing, at_most=4)}")
    return config, empty, tensors


def _split_digits(tokenizer: Any, gguf: Path) -> None:
    """Put back the step that splits digits, where the file says that the model was trained with it."""
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
    """Find the way to logits: some families scale or cap them after the head, and must not lose that."""
    import torch

    takes = frozenset(signature(model.forward).parameters)
    if "past_key_values" not in takes:
        raise ValueError(
            f"{type(model).__name__} keeps no key-value cache; such models are not supported yet"
        )
    body, head = getattr(model, "base_model", None), model.get_output_embeddings()
    vocab_size = int(model.get_input_embeddings().weight.shape[0])
    # Two rows that differ in their last token alone.
    ids = torch.arange(_CANARY_TOKENS, device=device).repeat(2, 1) % vocab_size
    ids[1, -1] = (ids[1, -1] + vocab_size // 2) % vocab_size
    with torch.inference_mode():
        whole = model(input_ids=ids, use_cache=False).logits.float()
        if not torch.isfinite(whole).all():
            raise ValueError("its logits are not finite numbers; try dtype=bfloat16 or dtype=float32")
        if _looks_ahead(whole, model.dtype):
            raise ValueError(
                f"{type(model).__name__} reads what comes later, so it cannot score or write text"
            )
        is_plain = body is not None and body is not model and head is not None
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
    )


def _has_own_cache(model: Any) -> bool:
    """Whether the model refuses any cache but one of its family's own class, as its signature says."""
    parameter = signature(model.base_model.forward).parameters.get("past_key_values")
    return parameter is not None and f"{model.config.model_type}cache" in str(parameter.annotation).lower()


def _is_stateful(model: Any) -> bool:
    """Whether some layer remembers something else than keys and values: a recurrence, a convolution."""
    from transformers import DynamicCache

    layers = DynamicCache(config=model.config).layers
    # What holds no keys and values cannot be cut down to some of the rows either.
    return bool(model._is_stateful) or any(not hasattr(layer, "batch_select_indices") for layer in layers)


def _looks_ahead(logits: Any, dtype: Any) -> bool:
    """Whether the logits before the last token know which one it is: the model is no causal one."""
    import torch

    one, other = logits[0, :-1], logits[1, :-1]
    moved = float(((one - other).norm(dim=-1) / one.norm(dim=-1).clamp(min=1e-6)).max())
    return moved > (_FP32_TOLERANCE if dtype == torch.float32 else _HALF_TOLERANCE)


def _window(config: Any) -> int | None:
    """Return the shortest stretch that any layer's attention is limited to."""
    text = config.get_text_config()
    found = [getattr(text, "attention_chunk_size", None)]
    if getattr(text, "use_sliding_window", True):
        found.append(getattr(text, "sliding_window", None))
    if "local" in getattr(text, "attention_layers", ()):  # GPT-Neo's word for it.
        found.append(text.window_size)
    return min((length for length in found if length), default=None)


def _compute_separately(body: Any, head: Any, ids: Any) -> Any:
    """Return head(body(x)) where the body gives hidden states at all."""
    hidden = getattr(body(input_ids=ids, use_cache=False), "last_hidden_state", None)
    if hidden is None or hidden.shape[-1] != head.weight.shape[-1]:
        return None
    return head(hidden).float()


@contextmanager
def _silencing_loaders() -> Iterator[None]:
    """Keep loaders from writing bars and advice on the person's screen; errors still come through."""
    from transformers import modeling_gguf_pytorch_utils as gguf_loader
    from transformers.utils import logging

    level, had_bars, bar = logging.get_verbosity(), logging.is_progress_bar_enabled(), gguf_loader.tqdm
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    gguf_loader.tqdm = _skip_bar
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        gguf_loader.tqdm = bar
        logging.set_verbosity(level)
        if had_bars:
            logging.enable_progress_bar()


def _skip_bar(items: Any, **_: Any) -> Any:
    return items


@contextmanager
def _wrapping_errors(what: str) -> Iterator[None]:
    """Turn whatever a loader raises into MODEL-005 or MODEL-006, with its own words kept."""
    try:
        yield
    except BackendError:
        raise
    except Exception as trouble:  # Loaders and a checkpoint's own code may raise anything.
        if is_out_of_memory(trouble):
            raise out_of_memory_error(
                f"{what}: memory ran out while reading the weights", "use a smaller model, or dtype=bfloat16"
            ) from trouble
        said = (str(trouble).strip() or type(trouble).__name__).splitlines()[0]
        raise load_error(f"{what}: {type(trouble).__name__}: {said}", _advice(trouble)) from trouble


def _advice(trouble: Exception) -> str:
    if "trust_remote_code" in str(trouble):
        return "the model brings its own code: read it, and if you trust it write trust_remote_code=true"
    if isinstance(trouble, ImportError):
        return "install the package that is named"
    return "check that the files are whole and that the installed transformers knows this model"
