"""Google's Gemini API.

    POST .../v1beta/models/MODEL:generateContent | :streamGenerateContent?alt=sse {"contents", ...}

Replies are converted to the form of an OpenAI-compatible reply. An answer that a safety filter blocked is a
failure, not an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from assay.backends.http.batches import BatchProtocol
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
from assay.backends.providers.settings import keep_fields, read_provider_address, read_provider_settings
from assay.core.media import Medium, Text
from assay.core.prompt import Message
from assay.core.request import Generate
from assay.core.thinking import Thinking

URL = "https://generativelanguage.googleapis.com/v1beta"
_EXAMPLE = "write gemini:MODEL, or gemini:MODEL@http://127.0.0.1:8000/v1beta for another address"
_MOST_STOPS = 5
"""The API rejects more stop strings."""
_DYNAMIC = -1
"""The budget with which the model decides itself how much it thinks."""
_FINISHES = {"STOP": "stop", "MAX_TOKENS": "length"}
_BLOCKED = {
    *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"),
    *("IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
}
_PARAMETERS = ("temperature", "top_p", "stop", "seed", "max_tokens")


class GeminiProtocol:
    """The Gemini API."""

    name = "gemini"
    lists_models = False
    own_url = URL
    batches: BatchProtocol | None = None
    key_variable = "GEMINI_API_KEY"
    media = frozenset(Medium)
    fetches_media = False
    cannot_score = (
        "Gemini's API reports no log-probabilities of a prompt, and only some models report those of a reply"
    )

    def read_address(self, where: str) -> Address:
        """Return the model's address, or raise MODEL-001."""
        return read_provider_address(where, self.name, URL, _EXAMPLE)

    def read_settings(self, args: Mapping[str, str]) -> OpenAISettings:
        """Return the model arguments, or raise MODEL-002."""
        return read_provider_settings(self.name, args)

    def collect_identity_args(self, settings: OpenAISettings) -> Arguments:
        """Return the arguments that change answers."""
        return settings.collect_identity_args()

    def build_headers(self, key: str | None) -> str:
        """Return the header lines of each call."""
        return "" if key is None else f"x-goog-api-key: {key}\r\n"

    def path(self, ask: Generate, model: str, settings: OpenAISettings, *, is_stream: bool) -> str:
        """Return the path of a call."""
        call = "streamGenerateContent?alt=sse" if is_stream else "generateContent"
        return f"/models/{quote(model)}:{call}"

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
        prompt = (Message("user", ask.prompt),) if isinstance(ask.prompt, str) else ask.prompt
        system = [message for message in prompt if message.role == "system"]
        fields: dict[str, Any] = {
            "contents": [_build_content(message) for message in prompt if message.role != "system"],
            "generationConfig": _build_config(ask, settings, seed),
        }
        if system:
            fields["systemInstruction"] = {"parts": [{"text": message.text} for message in system]}
        return fields | _build_tools(settings) | settings.extra

    def create_reader(self, ask: Generate) -> OpenAIReplyReader:
        """Return the reader of the reply to one attempt."""
        return OpenAIReplyReader(_GeminiStream, _read_reply)

    def report(self, url: str, model: str, key: str | None) -> Report | None:
        """Return the model's full name and version, from `GET /models/MODEL`."""
        entry = fetch_json(url, f"/models/{quote(model)}", key, headers=self.build_headers(key))
        report = select_plain_fields(entry, ("name", "version")) if isinstance(entry, dict) else {}
        return report or None

    def describe_begun_reply(self, settings: OpenAISettings) -> str | None:
        """Return why the model cannot continue a begun reply."""
        return "the dataset begins the reply, and Gemini's API cannot continue it"

    def describe_unsent(self, settings: OpenAISettings) -> str | None:
        """Return None: all sampling parameters are sent."""
        return None


# --- request ---


def _build_config(ask: Generate, settings: OpenAISettings, seed: int | None) -> dict[str, Any]:
    sampling, args, thinking = ask.sampling, settings.args, settings.thinking
    budget = 0 if thinking is None else thinking.budget or 0
    fields: dict[str, Any] = {
        "max_tokens": sampling.max_tokens + budget,
        "temperature": sampling.temperature,
    }
    if sampling.temperature > 0:
        fields["top_p"] = sampling.top_p
    if sampling.stop:
        # The reader of the reply cuts texts at the others.
        fields["stop"] = list(sampling.stop[:_MOST_STOPS])
    if seed is not None:
        fields["seed"] = seed
    names = {"max_tokens": "maxOutputTokens", "top_p": "topP", "stop": "stopSequences"}
    config = {names.get(name, name): value for name, value in keep_fields(fields, settings).items()}
    own = {
        "topK": args.top_k,
        "presencePenalty": args.presence_penalty,
        "frequencyPenalty": args.frequency_penalty,
    }
    config |= {name: value for name, value in own.items() if value is not None}
    if thinking is not None:
        config["thinkingConfig"] = build_thinking(thinking)
    return config


def build_thinking(thinking: Thinking) -> dict[str, Any]:
    """Return the part of a body that asks for thinking."""
    if not thinking.is_on:
        return {"thinkingBudget": 0}
    if thinking.effort is not None:
        return {"includeThoughts": True, "thinkingLevel": thinking.effort}
    return {"includeThoughts": True, "thinkingBudget": thinking.budget or _DYNAMIC}


def _build_content(message: Message) -> dict[str, Any]:
    parts = (Text(message.content),) if isinstance(message.content, str) else message.content
    return {
        "role": "model" if message.role == "assistant" else "user",
        "parts": [
            {"text": part.text}
            if isinstance(part, Text)
            else {"inlineData": {"mimeType": part.media_type, "data": encode_base64(part)}}
            for part in parts
        ],
    }


def _build_tools(settings: OpenAISettings) -> dict[str, Any]:
    """Return the offered tools in the API's form."""
    if not settings.tools:
        return {}
    known = ("name", "description", "parameters")
    functions = [
        {name: tool["function"][name] for name in known if name in tool["function"]}
        for tool in settings.tools
    ]
    fields: dict[str, Any] = {"tools": [{"functionDeclarations": functions}]}
    if (choice := settings.args.tool_choice) is not None:
        modes = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
        config: dict[str, Any] = {"mode": modes.get(choice, "ANY")}
        if choice not in modes:
            config["allowedFunctionNames"] = [choice]
        fields["toolConfig"] = {"functionCallingConfig": config}
    return fields


# --- reply ---


class _Function(msgspec.Struct):
    name: str | None = None
    args: Any = None
    id: str | None = None


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool = False
    function_call: _Function | None = None


class _Content(msgspec.Struct):
    parts: Sequence[_Part] = ()


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    index: int | None = None


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class _Counts(msgspec.Struct, rename="camel"):
    prompt_token_count: Any = None
    candidates_token_count: Any = None
    thoughts_token_count: Any = None
    tool_use_prompt_token_count: Any = None
    cached_content_token_count: Any = None
    """Part of the prompt tokens."""


class _Reply(msgspec.Struct, rename="camel"):
    candidates: Sequence[_Candidate] = ()
    prompt_feedback: _Feedback | None = None
    usage_metadata: _Counts | None = None
    error: Any = None


def _read_reply(content: bytes) -> OpenAIReply:
    """Return a reply, or a piece of one: both have the same form."""
    try:
        reply = msgspec.json.decode(content, type=_Reply)
    except msgspec.ValidationError as trouble:
        raise CallTrouble("wrong_reply", f"the reply does not follow the protocol: {trouble}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise not_json_error(content) from None
    if reply.error is not None:
        raise read_server_error(reply.error)
    if not reply.candidates and reply.prompt_feedback and reply.prompt_feedback.block_reason:
        return OpenAIReply([Choice(0, "content_filter", ReplyMessage())], _convert_usage(reply))
    return OpenAIReply([_convert_candidate(one) for one in reply.candidates], _convert_usage(reply))


def _convert_usage(reply: _Reply) -> Usage | None:
    """Return the token counts; the API counts thoughts besides the answer."""
    counts = reply.usage_metadata
    if counts is None:
        return None
    n_thinking = read_token_count(counts.thoughts_token_count or 0)
    n_written = read_token_count(counts.candidates_token_count or 0) + n_thinking
    n_read = read_token_count(counts.prompt_token_count) + read_token_count(
        counts.tool_use_prompt_token_count
    )
    cached = PromptDetails(read_token_count(counts.cached_content_token_count))
    return Usage(n_read, n_written, TokenDetails(n_thinking), prompt_tokens_details=cached)


def _convert_candidate(candidate: _Candidate) -> Choice:
    parts = () if candidate.content is None else candidate.content.parts
    texts = [part.text for part in parts if part.text is not None and not part.thought]
    thoughts = [part.text for part in parts if part.text is not None and part.thought]
    calls = [
        ToolCall(nth, call.id, CalledFunction(call.name, msgspec.json.encode(call.args or {}).decode()))
        for nth, call in enumerate(part.function_call for part in parts if part.function_call)
    ]
    reason = candidate.finish_reason
    if reason in _BLOCKED:
        finish: str | None = "content_filter"
    elif reason == "OTHER":
        finish = "error"  # The API does not say why; a retry may succeed.
    else:
        finish = None if reason is None else _FINISHES.get(reason, reason)
    text = "".join(texts) if texts else None
    message = ReplyMessage(text, "".join(thoughts) or None, tool_calls=calls or None)
    return Choice(candidate.index or 0, finish, message)


class _GeminiStream(StreamedReply):
    """Pieces in the form of whole replies."""

    def decode(self, data: bytes) -> OpenAIReply:
        return _read_reply(data)
