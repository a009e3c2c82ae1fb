"""What can be set on a local model, and the checks of it that need no model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from assay.backends.problems import argument_error, missing_files_error

Count = Annotated[int, msgspec.Meta(ge=1)]


class HfArgs(msgspec.Struct, frozen=True):
    """What can be set on a local model."""

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    device: Annotated[str, msgspec.Meta(pattern=r"^(auto|cpu|cuda(:\d+)?|mps)$")] = "auto"
    batch_tokens: Count | None = None
    """Padded tokens in one batch."""
    max_batch: Count | None = None
    """Rows, or packed lanes, in one batch, at most."""
    lane_tokens: Count | None = None
    """Length of a packed lane."""
    plain: bool = False
    """Compute every sequence by itself, sharing nothing."""
    revision: str | None = None
    trust_remote_code: bool = False
    chat_template: str | None = None
    """Path of a jinja file to use instead of the model's own template."""
    attn: str | None = None
    """Attention implementation, by transformers' name."""
    context_length: Count | None = None
    """Tokens it is given at most, where that should be fewer than it can read."""


def check_revision(where: str, revision: str | None, *, backend: str = "hf") -> None:
    """Raise MODEL-002 when a revision is named twice and not alike."""
    written = where.rpartition("@")[2] if "@" in where else ""
    if revision and written and revision != written and not Path(where).expanduser().exists():
        raise argument_error(
            f"{backend}:{where} names revision {written!r}, and revision={revision!r} another", "name it once"
        )


def settle_context_length(asked: int | None, known: int | None) -> int | None:
    """Return how many tokens the model is given at most; raise MODEL-002 when it cannot read so many."""
    if asked is not None and known is not None and asked > known:
        raise argument_error(
            f"context_length={asked}: the model reads at most {known:,} tokens",
            f"give a number up to {known}, or leave the argument away",
        )
    return asked or known


def read_template(path: str | None) -> str | None:
    """Return the text of a chat template file that was named, or raise MODEL-003."""
    if path is None:
        return None
    file = Path(path).expanduser()
    if not file.is_file():
        raise missing_files_error(f"there is no chat template file {path}", "give the path of a jinja file")
    return file.read_text("utf-8")
