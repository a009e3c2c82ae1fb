"""Anthropic's Messages API.

    POST .../v1/messages {"model", "max_tokens", "system", "messages", ...}

Replies are converted to the form of an OpenAI-compatible reply. A refusal is a failure, not an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from assay.backends.http.batches import AnthropicBatches, BatchProtocol
from assay.backends.http.post import CallTrouble, not_json_error
from assay.backends.http.text_protocol import Arguments
from assay.backends.local.media_bytes import encode_base64
from assay.backends.openai.address import Address
from assay.backends.openai.arguments import OpenAISettings
from assay.backends.openai.model_report import Report, fetch_json, select_plain_fields
from assay.backends.openai.protocol import (
    Choice,
    OpenAIReply,
    PromptDetails,
    ReplyMessage,
    TokenDetails,
    Usage,
    read_server_error,
    read_token_count,
)
from assay.backends.openai.reply_reader import OpenAIReplyReader
from assay.backends.openai.stream import StreamedReply
from assay.backends.openai.tools import CalledFunction, ToolCall
from assay.backends.problems import thinking_error
from assay.backends.providers.settings import keep_fields, read_provider_address, read_provider_settings
from assay.core.media import Image, Medium, Text
from assay.core.prompt import Message
from assay.core.request import Generate
from assay.core.thinking import Thinking

URL = "https://api.anthropic.com/v1"
_EXAMPLE = "write anthropic:MODEL, or anthropic:MODEL@http://127.0.0.1:8000/v1 for another address"
_VERSION = "2023-06-01"
"""The version of the API, which every request names."""
_LEAST_BUDGET = 1024
"""The API rejects smaller budgets."""
_FINISHES = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_THOUGHTS = ("thinking", "redacted_thinking")
"""Types of blocks; the API may leave out the text of a thought."""
_PERMANENT = {"invalid_request_error", "authentication_error", "permission_error", "not_found_error"}


class AnthropicProtocol:
    """The Messages API."""

    name = "anthropic"
    lists_models = False
    own_url = URL
    batches: BatchProtocol | None = AnthropicBatches()
    key_variable = "ANTHROPIC_API_KEY"
    media = frozenset({Medium.IMAGE})
    fetches_media = True
    cannot_score = "Anthropic's API reports no log-probabilities"

    def read_address(self, where: str) -> Address:
        """Return the model's address, or raise MODEL-001."""
        return read_provider_address(where, self.name, URL, _EXAMPLE)

    def read_settings(self, args: Mapping[str, str]) -> OpenAISettings:
        """Return the model arguments, or raise MODEL-002 or MODEL-021."""
        settings = read_provider_settings(self.name, args, ("presence_penalty", "frequency_penalty"))
        budget = None if settings.thinking is None else settings.thinking.budget
        if budget is not None and budget < _LEAST_BUDGET:
            raise thinking_error(
                f"--thinking {budget}: Anthropic's API accepts budgets from {_LEAST_BUDGET:,} tokens on",
                f"use --thinking {_LEAST_BUDGET}, or --thinking low",
            )
        return settings

    def collect_identity_args(self, settings: OpenAISettings) -> Arguments:
        """Return the arguments that change answers."""
        return settings.collect_identity_args()

    def build_headers(self, key: str | None) -> str:
        """Return the header lines of each call."""
        own = "" if key is None else f"x-api-key: {key}\r\n"
        return f"{own}anthropic-version: {_VERSION}\r\n"

    def path(self, ask: Generate, model: str, settings: OpenAISettings, *, is_stream: bool) -> str:
        """Return the path of a call."""
        return "/messages"

    def body(
        self,
        ask: Generate,
        model: str,
        settings: OpenAISettings,
        *,
        is_stream: bool,
        seed: int | None = None,
        n_texts: int = 1,
    ) -> dict[str, Any]:
        """Return the body of a call; may raise MediaTrouble."""
        thinking, sampling = settings.thinking, ask.sampling
        prompt = (Message("user", ask.prompt),) if isinstance(ask.prompt, str) else ask.prompt
        system = "\n\n".join(message.text for message in prompt if message.role == "system")
        turns = [message for message in prompt if message.role != "system"]
        fields: dict[str, Any] = {
            "model": model,
            "max_tokens": sampling.max_tokens + ((thinking.budget or 0) if thinking is not None else 0),
            **({"system": system} if system else {}),
            "messages": [_build_message(message, is_last=message is turns[-1]) for message in turns],
        }
        # The API rejects a temperature together with thinking.
        if thinking is None or not thinking.is_on:
            fields["temperature"] = sampling.temperature
            if sampling.temperature > 0 and sampling.top_p < 1:
                fields["top_p"] = sampling.top_p
            if settings.args.top_k is not None:
                fields["top_k"] = settings.args.top_k
        # It also rejects stop strings of white space; the reader of the reply cuts texts at them.
        if stops := [stop for stop in sampling.stop if stop.strip()]:
            fields["stop_sequences"] = stops
        if is_stream:
            fields["stream"] = True
        fields |= build_thinking(thinking) | _build_tools(settings) | settings.extra
        if "stop" in settings.omitted:
            fields.pop("stop_sequences", None)
        return keep_fields(fields, settings)

    def create_reader(self, ask: Generate) -> OpenAIReplyReader:
        """Return the reader of the reply to one attempt."""
        return OpenAIReplyReader(_AnthropicStream, _read_message)

    def report(self, url: str, model: str, key: str | None) -> Report | None:
        """Return the model's full name and date, from `GET /models/MODEL`."""
        entry = fetch_json(url, f"/models/{quote(model)}", key, headers=self.build_headers(key))
        report = select_plain_fields(entry, ("id", "created_at")) if isinstance(entry, dict) else {}
        return report or None

    def describe_begun_reply(self, settings: OpenAISettings) -> str | None:
        """Return why the model cannot continue a begun reply; None if it can."""
        if settings.thinking is not None and settings.thinking.is_on:
            return "the dataset begins the reply, which Anthropic's API rejects with thinking on"
        return None

    def describe_unsent(self, settings: OpenAISettings) -> str | None:
        """Return which sampling parameters are not sent, and why; None if all are."""
        if settings.thinking is not None and settings.thinking.is_on:
            return "temperature and top_p are not sent, because Anthropic's API rejects them with thinking on"
        return None


# --- request ---


def build_thinking(thinking: Thinking | None) -> dict[str, Any]:
    """Return the fields that ask for thinking."""
    if thinking is None:
        return {}
    if not thinking.is_on:
        return {"thinking": {"type": "disabled"}}
    if thinking.budget is not None:
        return {"thinking": {"type": "enabled", "budget_tokens": thinking.budget}}
    fields: dict[str, Any] = {"thinking": {"type": "adaptive"}}
    if thinking.effort is not None:
        # The API has no effort below low.
        effort = "low" if thinking.effort == "minimal" else thinking.effort
        fields["output_config"] = {"effort": effort}
    return fields


def _build_message(message: Message, *, is_last: bool) -> dict[str, Any]:
    if isinstance(message.content, str):
        text = message.content
        if is_last and message.role == "assistant":
            text = text.rstrip()  # The API rejects a begun reply that ends with white space.
        return {"role": message.role, "content": text}
    parts = [
        {"type": "text", "text": part.text} if isinstance(part, Text) else _build_image(part)
        for part in message.content
    ]
    return {"role": message.role, "content": parts}


def _build_image(part: Any) -> dict[str, Any]:
    assert isinstance(part, Image)  # The card declares no other media.
    if part.url:
        return {"type": "image", "source": {"type": "url", "url": part.url}}
    source = {"type": "base64", "media_type": part.media_type, "data": encode_base64(part)}
    return {"type": "image", "source": source}


def _build_tools(settings: OpenAISettings) -> dict[str, Any]:
    """Return the offered tools in the API's form."""
    if not settings.tools:
        return {}
    functions = [tool["function"] for tool in settings.tools]
    fields: dict[str, Any] = {
        "tools": [
            {
                "name": function["name"],
                "description": function.get("description", ""),
                "input_schema": function.get("parameters") or {"type": "object"},
            }
            for function in functions
        ]
    }
    if (choice := settings.args.tool_choice) is not None:
        kinds = {"auto": "auto", "none": "none", "required": "any"}
        named = {"type": "tool", "name": choice}
        fields["tool_choice"] = {"type": kinds[choice]} if choice in kinds else named
    return fields


# --- reply ---


class _Block(msgspec.Struct):
    """A block of a reply, or a piece of one."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str | None = None
    name: str | None = None
    input: Any = None
    partial_json: str = ""


class _OutputDetails(msgspec.Struct):
    thinking_tokens: Any = None


class _Usage(msgspec.Struct):
    input_tokens: Any = None
    cache_creation_input_tokens: Any = None
    cache_read_input_tokens: Any = None
    output_tokens: Any = None
    output_tokens_details: _OutputDetails | None = None


class _Message(msgspec.Struct):
    content: Sequence[_Block] = ()
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: _Usage | None = None


class _Error(msgspec.Struct):
    type: str = ""
    message: str = ""


class _Reply(_Message):
    type: str = ""
    error: _Error | None = None


class _Delta(_Block):
    stop_reason: str | None = None
    stop_sequence: str | None = None


class _Event(msgspec.Struct):
    type: str = ""
    index: int = 0
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None
    error: _Error | None = None


def _decode(content: bytes, kind: Any) -> Any:
    try:
        decoded = msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as trouble:
        raise CallTrouble("wrong_reply", f"the reply does not follow the protocol: {trouble}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise not_json_error(content) from None
    if decoded.error is not None:
        code = 400 if decoded.error.type in _PERMANENT else None
        message = f"{decoded.error.type}: {decoded.error.message}"
        raise read_server_error({"message": message, "code": code})
    return decoded


def _convert_usage(usage: _Usage | None, *, has_thought: bool) -> Usage | None:
    """Return the token counts. Those of a thought may be missing, and are 0 only without one."""
    if usage is None:
        return None
    cached = usage.cache_read_input_tokens
    n_read = sum(map(read_token_count, (usage.input_tokens, usage.cache_creation_input_tokens, cached)))
    n_thinking = (usage.output_tokens_details or _OutputDetails()).thinking_tokens
    if n_thinking is None and not has_thought:
        n_thinking = 0
    return Usage(
        n_read,
        usage.output_tokens,
        TokenDetails(n_thinking),
        prompt_tokens_details=PromptDetails(read_token_count(cached)),
    )


def _find_finish(reason: str | None) -> str | None:
    return None if reason is None else _FINISHES.get(reason, reason)


def _read_message(content: bytes) -> OpenAIReply:
    reply = _decode(content, _Reply)
    thought = "".join(block.thinking for block in reply.content if block.type == "thinking")
    texts = [block.text for block in reply.content if block.type == "text"]
    calls = [
        ToolCall(nth, block.id, CalledFunction(block.name, msgspec.json.encode(block.input).decode()))
        for nth, block in enumerate(reply.content)
        if block.type == "tool_use"
    ]
    message = ReplyMessage("".join(texts) if texts else None, thought or None, tool_calls=calls or None)
    choice = Choice(0, _find_finish(reply.stop_reason), message, stop_reason=reply.stop_sequence)
    has_thought = any(block.type in _THOUGHTS for block in reply.content)
    return OpenAIReply([choice], _convert_usage(reply.usage, has_thought=has_thought))


class _AnthropicStream(StreamedReply):
    """Events of blocks and their pieces."""

    def __init__(self) -> None:
        super().__init__()
        self._counts = _Usage()
        self._has_thought = False

    def decode(self, data: bytes) -> OpenAIReply:
        event = _decode(data, _Event)
        counts = event.usage if event.message is None else event.message.usage
        if counts is not None:
            for name in counts.__struct_fields__:
                if getattr(counts, name) is not None:
                    setattr(self._counts, name, getattr(counts, name))
        delta = event.delta or _Delta()
        if event.type == "message_delta":
            finish = _find_finish(delta.stop_reason)
            usage = _convert_usage(self._counts, has_thought=self._has_thought)
            return OpenAIReply([Choice(0, finish, stop_reason=delta.stop_sequence)], usage)
        block = event.content_block or _Block()
        text, thought = block.text + delta.text, block.thinking + delta.thinking
        self._has_thought = self._has_thought or block.type in _THOUGHTS or bool(thought)
        calls = None
        if block.type == "tool_use":
            calls = [ToolCall(event.index, block.id, CalledFunction(block.name, ""))]
        elif delta.partial_json:
            calls = [ToolCall(event.index, None, CalledFunction(None, delta.partial_json))]
        if not (text or thought or calls):
            return OpenAIReply()
        return OpenAIReply([Choice(0, None, ReplyMessage(text or None, thought or None, tool_calls=calls))])
