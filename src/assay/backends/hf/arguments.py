"""Arguments of a local model, and the checks that need no model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from assay.backends.problems import argument_error, missing_files_error

Count = Annotated[int, msgspec.Meta(ge=1)]


class HfArgs(msgspec.Struct, frozen=True):
    """Arguments of a local model."""

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    device: Annotated[str, msgspec.Meta(pattern=r"^(auto|cpu|cuda(:\d+)?|mps)$")] = "auto"
    batch_tokens: Count | None = None
    """Padded tokens in one batch."""
    max_batch: Count | None = None
    """Maximum rows, or packed lanes, in one batch."""
    lane_tokens: Count | None = None
    """Length of a packed lane."""
    plain: bool = False
    """Compute every sequence separately, without shared prefixes."""
    revision: str | None = None
    trust_remote_code: bool = False
    chat_template: str | None = None
    """Path of a jinja file to use instead of the model's own template."""
    attn: str | None = None
    """Attention implementation, by transformers' name."""
    device_map: Literal["auto"] | None = None
    """`auto`: distribute the layers over all GPUs."""
    load_in_4bit: bool = False
    load_in_8bit: bool = False
    """Quantise the weights with bitsandbytes while they are read."""
    lora: str | None = None
    """Folder or hub repository of an adapter to apply."""
    context_length: Count | None = None
    """Maximum number of tokens to give the model, if it should be less than the model's own."""


def check_revision(where: str, revision: str | None, *, backend: str = "hf") -> None:
    """Raise MODEL-002 if two different revisions are given."""
    written = where.rpartition("@")[2] if "@" in where else ""
    if revision and written and revision != written and not Path(where).expanduser().exists():
        raise argument_error(
            f"{backend}:{where} and revision={revision!r} name different revisions", "give only one of them"
        )


def settle_context_length(given: int | None, known: int | None) -> int | None:
    """Return the context length to use; raise MODEL-002 if it exceeds the model's own."""
    if given is not None and known is not None and given > known:
        raise argument_error(
            f"context_length={given}: the model's own context length is {known:,} tokens",
            f"set a number up to {known}, or omit the argument",
        )
    return given or known


def read_template(path: str | None) -> str | None:
    """Return the text of a chat template file, or raise MODEL-003."""
    if path is None:
        return None
    file = Path(path).expanduser()
    if not file.is_file():
        raise missing_files_error(f"there is no chat template file {path}", "give the path of a jinja file")
    return file.read_text("utf-8")
