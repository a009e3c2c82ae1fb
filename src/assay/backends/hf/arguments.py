"""Arguments of a local model, and the checks that need no model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from assay.backends.problems import argument_error, missing_files_error

Count = Annotated[int, msgspec.Meta(ge=1)]
_OWN_VARIABLES = frozenset(
    {"messages", "conversation", "add_generation_prompt", "continue_final_message", "tokenize"}
    | {"chat_template", "return_dict", "return_tensors"}
)
"""Variables of a conversation, and arguments of transformers' function that renders it."""


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
    """Path of a jinja file to use instead of the model's template, or the name of one of its templates."""
    chat_template_kwargs: str | None = None
    """Further variables of the chat template, a JSON object."""
    add_bos_token: bool | None = None
    """Whether a text begins with the BOS token. None: as the tokenizer decides."""
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
    thinking: str | None = None
    """`on`, `off`, an effort or a number of tokens. None: as the model's chat template does by itself."""
    thoughts: Literal["apart", "inline"] = "apart"
    """`inline`: leave thoughts in the answers, as systems do that know no thoughts."""


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


def read_template(given: str | None) -> str | None:
    """Return the text of a chat template file, or raise MODEL-003; None for the name of a template."""
    if given is None:
        return None
    file = Path(given).expanduser()
    if file.is_file():
        return file.read_text("utf-8")
    if len(Path(given).parts) > 1 or file.suffix:
        raise missing_files_error(f"there is no chat template file {given}", "give the path of a jinja file")
    return None


def read_template_variables(text: str | None) -> dict[str, Any]:
    """Return the variables in `chat_template_kwargs`, or raise MODEL-002."""
    if text is None:
        return {}
    fix = """write chat_template_kwargs='{"enable_thinking": false}'"""
    try:
        variables = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise argument_error(
            f"chat_template_kwargs={text!r:.60} is not a JSON object: {error}", fix
        ) from None
    for name in variables:
        if name in _OWN_VARIABLES:
            raise argument_error(f"chat_template_kwargs: Assay sets {name!r} itself", f"remove {name!r}")
    return variables


def collect_thinking_args(thinking: str | None, thoughts: str) -> dict[str, str]:
    """Return the arguments about thoughts that change answers."""
    changed = {} if thinking is None else {"thinking": thinking}
    return changed if thoughts == "apart" else {**changed, "thoughts": thoughts}
