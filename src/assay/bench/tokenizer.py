"""The tokenizer of a model, read from its `tokenizer.json`, for texts of a known number of tokens.

It never adds special tokens: the server adds its own, such as those of a chat template.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import Problem, UsageError
from assay.core.origin import Origin

if TYPE_CHECKING:
    import tokenizers

FILE = "tokenizer.json"


class Tokenizer:
    """The operations of a tokenizer that text generation needs."""

    def __init__(self, inner: tokenizers.Tokenizer) -> None:
        self._inner = inner

    def ends(self, text: str) -> list[int]:
        """Return the end position of each token in the text."""
        return [end for _, end in self._inner.encode(text, add_special_tokens=False).offsets]

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text's tokens."""
        ids: list[int] = self._inner.encode(text, add_special_tokens=False).ids
        return ids

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return len(self.ids(text))

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens; invalid bytes become replacement characters."""
        text: str = self._inner.decode(list(ids), skip_special_tokens=False)
        return text

    def plain_ids(self, vocab_size: int | None = None) -> list[int]:
        """Return the ids of all tokens that are not special, below a vocabulary size if one is given."""
        special = {at for at, token in self._inner.get_added_tokens_decoder().items() if token.special}
        known = sorted(self._inner.get_vocab(with_added_tokens=True).values())
        return [at for at in known if at not in special and (vocab_size is None or at < vocab_size)]


def open_tokenizer(path: str) -> Tokenizer:
    """Read a tokenizer from a file, or from a folder that contains one at any depth."""
    try:
        import tokenizers
    except ImportError:
        what = "reading a tokenizer needs the package tokenizers, which is not installed"
        raise UsageError(Problem("BENCH-021", what, "pip install tokenizers, or omit --tokenizer")) from None
    file = _file(Path(path))
    try:
        inner = tokenizers.Tokenizer.from_file(str(file))
    except Exception as error:  # noqa: BLE001 - the package raises bare exceptions
        what = f"cannot load the tokenizer: {error}"
        raise UsageError(
            Problem("BENCH-021", what, f"use a complete {FILE} of the model", Origin(str(file)))
        ) from None
    inner.no_truncation()
    inner.no_padding()
    return Tokenizer(inner)


def _file(path: Path) -> Path:
    if path.is_file():
        return path
    found = sorted(path.rglob(FILE), key=lambda file: (len(file.parts), file)) if path.is_dir() else []
    if found:
        return found[0]
    what = f"the folder has no {FILE}" if path.is_dir() else "the file or folder does not exist"
    fix = f"set --tokenizer to the model folder or its {FILE}; without it, the server counts the tokens"
    raise UsageError(Problem("BENCH-021", what, fix, Origin(str(path))))
