"""The OpenAI-compatible protocol: request bodies, and the texts in a reply.

    POST .../chat/completions {"model", "messages", ...}     POST .../completions {"model", "prompt", ...}

Whole and streamed replies are read the same way: `stream` joins the pieces of a streamed reply.

This module opens no sockets. The only files it reads are the media files of a prompt.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

import msgspec

from assay.backends.http.post import CallTrouble, not_json_error
from assay.backends.local.media_bytes import encode_base64
from assay.backends.local.thoughts import split_thought
from assay.backends.openai.arguments import Api, OpenAISettings
from assay.backends.openai.thinking import TEMPLATE_FIELD, build_thinking_fields
from assay.backends.openai.tools import ToolCall, format_calls, read_calls
from assay.backends.repeats import count_drawn_texts, draw_repeat_seed
from assay.core.billing import Bill
from assay.core.media import AnyMedia, Audio, Text
from assay.core.prompt import Message, Prompt, final_text
from assay.core.request import Generate, Request, Sampling
from assay.core.response import Failure, Finish, Output

PATHS: dict[Api, str] = {"chat": "/chat/completions", "completions": "/completions"}

_ENDED = {"stop", "eos", "eos_token", "end_turn", "stop_sequence"}
_CUT = {"length", "max_tokens", "max_output_tokens", "model_length"}
_BROKEN_OFF = {"abort", "cancelled", "error", "insufficient_system_resource"}
"""The server aborted a text that it had begun; a retry may succeed."""
_CALLED = {"tool_calls", "function_call"}
_FILTERED = "content_filter"
_TOO_MANY = 429
MOST_TOKENS = 10**9
"""No request reads or writes more tokens; a larger number from a server is wrong."""


# --- request ---


@dataclass(frozen=True, slots=True, eq=False)
class GenerationPart:
    """Texts of one request that one call generates."""

    request: Request
    ask: Generate
    number: int
    """The number of its first text within the request."""
    n_texts: int

    @property
    def seed(self) -> int | None:
        """Return the seed of its first text; None if nothing is sampled."""
        return draw_repeat_seed(self.ask.sampling, self.request.index, self.number)

    def after(self, n_written: int) -> GenerationPart:
        """Return the part that remains after `n_written` texts."""
        return GenerationPart(self.request, self.ask, self.number + n_written, self.n_texts - n_written)


def split_generation(request: Request, settings: OpenAISettings) -> list[GenerationPart] | Failure:
    """Return the calls that a request needs, or why it cannot be answered."""
    ask = request.ask
    assert isinstance(ask, Generate), "ServerScoring sends requests for likelihoods and probabilities"
    if isinstance(ask.prompt, tuple) and settings.args.api == "completions":
        return Failure("chat", "api=completions accepts only plain text, but the prompt is a conversation")
    if not ask.prompt:
        return Failure("empty", "the prompt is empty")
    if ask.sampling.max_tokens < 1:
        return Failure("max_tokens", "max_tokens is below 1, so nothing can be generated")
    # Where the run does not set the temperature, the server may sample.
    n_texts = count_drawn_texts(ask.sampling) if settings.decoding is None else ask.sampling.n
    step = settings.args.n_per_call
    return [
        GenerationPart(request, ask, first, min(step, n_texts - first)) for first in range(0, n_texts, step)
    ]


def select_api(prompt: Prompt, settings: OpenAISettings) -> Api:
    """Return the API for a prompt: the one set by `api`, else chat for conversations, completions for texts.

    Only chats can offer tools: with tools, a text is sent as one user message.
    """
    is_text = isinstance(prompt, str) and not settings.tools
    return settings.args.api or ("completions" if is_text else "chat")


def build_body(
    ask: Generate,
    model: str,
    settings: OpenAISettings,
    *,
    is_stream: bool,
    seed: int | None = None,
    n_texts: int = 1,
) -> dict[str, Any]:
    """Return the body of a call; raise MediaTrouble if a medium of the prompt cannot be read."""
    fields = {
        "model": model,
        **build_prompt_fields(ask.prompt, select_api(ask.prompt, settings)),
        **_build_decoding(ask.sampling, settings, seed, n_texts),
    }
    if not isinstance(ask.prompt, str):
        fields |= build_thinking_fields(settings.thinking, settings.args.thinking_budget_name)
    own = settings.fields
    if isinstance(given := own.get(TEMPLATE_FIELD), dict):
        own[TEMPLATE_FIELD] = {**fields.get(TEMPLATE_FIELD, {}), **given}
    fields |= own
    if set(ask.sampling.stop) > set(get_stop_texts(settings)):
        fields["stop"] = list(ask.sampling.stop)
    if is_stream:
        fields |= {"stream": True, "stream_options": {"include_usage": True}}
    elif settings.decoding is not None:
        fields["stream"] = False
    return adapt_fields(fields, settings)


def adapt_fields(fields: Mapping[str, Any], settings: OpenAISettings) -> dict[str, Any]:
    """Return the fields of a body without the omitted ones, with `max_tokens` under the server's name."""
    sent = {name: value for name, value in fields.items() if name not in settings.omitted}
    if "max_tokens" in sent:
        sent[settings.args.max_tokens_name] = sent.pop("max_tokens")
    return sent


def build_prompt_fields(prompt: Prompt, api: Api) -> dict[str, Any]:
    """Return the fields that contain a prompt; may raise MediaTrouble."""
    if isinstance(prompt, str):
        return {"prompt": prompt} if api == "completions" else {"messages": [_build_message("user", prompt)]}
    fields: dict[str, Any] = {
        "messages": [_build_message(message.role, build_content(message)) for message in prompt]
    }
    if prompt[-1].role == "assistant":
        # Servers continue a begun reply only with these fields. A server that does not know them either says
        # so or continues anyway; without them, most servers would answer the begun reply with another turn.
        fields |= {"continue_final_message": True, "add_generation_prompt": False}
    return fields


def _build_message(role: str, content: str | list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": role, "content": content}


def get_stop_texts(settings: OpenAISettings) -> Sequence[str]:
    """Return the stop texts in the model's own arguments."""
    stop = (settings.decoding or {}).get("stop") or ()
    return (stop,) if isinstance(stop, str) else stop


def _build_decoding(
    sampling: Sampling, settings: OpenAISettings, seed: int | None, n_texts: int
) -> dict[str, Any]:
    max_tokens = sampling.max_tokens
    if settings.thinking is not None:
        max_tokens += settings.thinking.budget or 0
    if settings.decoding is not None:
        return {"max_tokens": max_tokens}
    fields: dict[str, Any] = {"max_tokens": max_tokens, "temperature": sampling.temperature}
    if sampling.temperature > 0:
        # Sent even if it is 1: the server may have another default, such as the checkpoint's own.
        fields["top_p"] = sampling.top_p
    if sampling.stop:
        fields["stop"] = list(sampling.stop)
    if seed is not None:
        fields["seed"] = seed
    if n_texts > 1:
        fields["n"] = n_texts
    return fields


# --- reply ---


class ContentPart(msgspec.Struct):
    """A part of a message, as sent by servers whose replies can contain images."""

    type: str = "text"
    text: str | None = None


class ReplyMessage(msgspec.Struct):
    """A message of the model, or a piece of one."""

    content: str | list[ContentPart] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    """The same under another name: servers use one of them, or both with the same text."""
    refusal: str | None = None
    tool_calls: list[ToolCall] | None = None


class Choice(msgspec.Struct):
    """One of the texts, or a piece of it."""

    index: int | None = None
    finish_reason: str | None = None
    message: ReplyMessage | None = None
    delta: ReplyMessage | None = None
    text: str | None = None
    stop_reason: Any = None
    """vLLM: the stop string or token that ended the text."""
    matched_stop: Any = None
    """SGLang: the same."""


class TokenDetails(msgspec.Struct):
    """Which tokens of a text are of which kind."""

    reasoning_tokens: Any = None


class PromptDetails(msgspec.Struct):
    """Which tokens of a prompt are of which kind."""

    cached_tokens: Any = None


class CostDetails(msgspec.Struct):
    """OpenRouter: what the provider behind it charges."""

    upstream_inference_cost: Any = None


class Usage(msgspec.Struct):
    """The server's token counts."""

    prompt_tokens: Any = None
    completion_tokens: Any = None
    completion_tokens_details: TokenDetails | None = None
    reasoning_tokens: Any = None
    """SGLang: the tokens of thoughts, without details."""
    prompt_tokens_details: PromptDetails | None = None
    prompt_cache_hit_tokens: Any = None
    """DeepSeek: the cached tokens of the prompt, without details."""
    cost: Any = None
    """OpenRouter, LiteLLM: the cost of the call in US dollars. Perplexity: an object with `total_cost`."""
    is_byok: Any = None
    """OpenRouter: whether the provider charges the user's own key, besides `cost`."""
    cost_details: CostDetails | None = None

    @property
    def bill(self) -> Bill:
        """Return what the call is charged for."""
        details = self.prompt_tokens_details or PromptDetails()
        cached = self.prompt_cache_hit_tokens if details.cached_tokens is None else details.cached_tokens
        n_cached = min(read_token_count(cached), self.n_read)
        return Bill(self.n_read, n_cached, self.n_written, self._usd)

    @property
    def _usd(self) -> float | None:
        """Return the reported cost; None if there is none."""
        cost = self.cost.get("total_cost") if isinstance(self.cost, dict) else self.cost
        if not _is_amount(cost):
            return None
        upstream = None if self.cost_details is None else self.cost_details.upstream_inference_cost
        return float(cost) + (float(upstream) if self.is_byok is True and _is_amount(upstream) else 0.0)

    @property
    def n_thinking(self) -> int | None:
        """Return the number of tokens of all thoughts together, None if the server does not report it."""
        details = self.completion_tokens_details or TokenDetails()
        sent = self.reasoning_tokens if details.reasoning_tokens is None else details.reasoning_tokens
        return None if sent is None else read_token_count(sent)

    @property
    def n_read(self) -> int:
        """Return the number of prompt tokens, 0 if the server does not report it."""
        return read_token_count(self.prompt_tokens)

    @property
    def n_written(self) -> int:
        """Return the number of tokens of all texts together, 0 if the server does not report it."""
        return read_token_count(self.completion_tokens)


def _is_amount(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


def read_token_count(value: Any) -> int:
    """Return a token count, 0 if the value cannot be one: an answer stays valid without it."""
    is_number = isinstance(value, int | float) and 0 <= value <= MOST_TOKENS
    return int(value) if is_number else 0


class OpenAIReply(msgspec.Struct):
    """A reply, or a piece of one."""

    choices: list[Choice] = []
    usage: Usage | None = None
    error: Any = None
    message: Any = None
    """Without choices: the error message, from servers that send the fields of an error at the top level."""
    code: Any = None


class GeneratedText(NamedTuple):
    """A text, and what the server reported about it."""

    output: Output
    is_end_reported: bool
    """Whether the server reported why it ended."""
    is_estimated: bool = False
    """Whether the number of tokens of its thought is estimated."""
    is_unmarked: bool = False
    """Whether it was truncated and does not show whether its answer had begun."""


class Thoughts(NamedTuple):
    """How to find the thoughts in texts."""

    is_apart: bool = True
    """Whether thoughts inside a text are separated from its answer."""
    is_requested: bool = False
    """Whether the model was asked to think."""
    budget: int | None = None
    """Tokens that a text may have besides `max_tokens`."""


_APART = Thoughts()


def build_thoughts(settings: OpenAISettings) -> Thoughts:
    """Return how to find the thoughts in the texts of a model with these settings."""
    thinking = settings.thinking
    is_requested = thinking is not None and thinking.is_on
    budget = None if thinking is None else thinking.budget
    return Thoughts(settings.args.thoughts == "apart", is_requested, budget)


_decoder = msgspec.json.Decoder(OpenAIReply)


def decode_reply(content: bytes) -> OpenAIReply:
    """Return a reply; raise CallTrouble if it cannot be decoded or reports an error."""
    try:
        reply = _decoder.decode(content.removeprefix(BOM_UTF8))
    except msgspec.ValidationError as trouble:
        raise CallTrouble("wrong_reply", f"the reply does not follow the protocol: {trouble}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):  # The latter for bytes that are not UTF-8.
        raise not_json_error(content) from None
    if reply.error is not None:
        raise read_server_error(reply.error)
    if reply.message and not reply.choices:
        raise read_server_error({"message": reply.message, "code": reply.code})
    return reply


def read_server_error(error: Any) -> CallTrouble:
    """Return the error inside a reply of status 200; servers send it if they had begun to answer."""
    described = error if isinstance(error, dict) else {"message": str(error)}
    code = str(described.get("code"))
    is_ours = code.isdecimal() and 400 <= int(code) < 500 and int(code) != _TOO_MANY
    message = f"the server says: {described.get('message') or error}"
    return CallTrouble("server", message, may_pass=not is_ours)


def check_reply(reply: OpenAIReply) -> OpenAIReply:
    """Return a complete reply that can be read; raise CallTrouble if a retry may give a better one."""
    if not reply.choices:
        raise CallTrouble("wrong_reply", "the reply contains no choices")
    for choice in reply.choices:
        if choice.finish_reason in _BROKEN_OFF:
            why = f"the server aborted the text: finish_reason {choice.finish_reason!r}"
            raise CallTrouble("broken_off", why, may_pass=True)
    return reply


def join_content(content: str | list[ContentPart] | None) -> str | None:
    """Return the text of a message, joined if it came in parts; raise CallTrouble if a part is not text."""
    if not isinstance(content, list):
        return content
    for part in content:
        if part.text is None:
            raise CallTrouble(
                "wrong_reply", f"the reply contains a part of type {part.type!r}, which is not text"
            )
    return "".join(part.text or "" for part in content)


def read_texts(
    reply: OpenAIReply, ask: Generate, *, offers_tools: bool = False, thoughts: Thoughts = _APART
) -> list[GeneratedText] | Failure:
    """Return the texts of a reply, or why there are none. Tool calls are an answer if tools were offered."""
    # Servers count all texts together, or only the first, so the count of a single text is unknown.
    usage = reply.usage if reply.usage is not None and len(reply.choices) == 1 else Usage()
    written: list[GeneratedText] = []
    for choice in sorted(reply.choices, key=lambda choice: choice.index or 0):
        text = _read_generated(choice, ask, usage, thoughts, offers_tools=offers_tools)
        if isinstance(text, Failure):
            return text
        written.append(text)
    return written


def _read_generated(
    choice: Choice, ask: Generate, usage: Usage, thoughts: Thoughts, *, offers_tools: bool
) -> GeneratedText | Failure:
    n_tokens, n_thinking = usage.n_written, usage.n_thinking
    message = choice.message or ReplyMessage()
    text = choice.text if choice.text is not None else join_content(message.content)
    calls = read_calls(message.tool_calls) if offers_tools else ()
    if text is None:
        text = message.refusal
    reason = choice.finish_reason
    if reason == _FILTERED:
        return Failure(_FILTERED, "the server's content filter blocked the answer")
    if not text and reason in _CALLED and not calls:
        why = "and the server does not say which one" if offers_tools else "but no tools were offered"
        return Failure("tool_calls", f"the model called a tool instead of answering, {why}")
    is_end_reported = reason in _ENDED or reason in _CUT or bool(calls and reason in _CALLED)
    if text is None and not calls and not is_end_reported:
        return Failure("no_text", f"the reply contains no text, and finish_reason {reason!r}")
    # With a finish_reason, an empty text is an answer: the model ended at once, or only wrote reasoning.
    text = _strip_begun_reply(text or "", ask.prompt)
    reasoning = message.reasoning_content or message.reasoning or None
    if thoughts.is_apart and reasoning is None and not isinstance(ask.prompt, str):
        reasoning, text = split_thought(text)
    limit = ask.sampling.max_tokens + (0 if thoughts.budget is None else thoughts.budget)
    text, finish = _detect_finish(text, choice, ask.sampling, n_tokens, limit)
    is_unmarked = (
        thoughts.is_requested and finish is Finish.LENGTH and reasoning is None and n_thinking is None
    ) and bool(text)
    if is_unmarked:
        reasoning, text = text, ""  # Perhaps an answer, but a thought must never be scored as one.
    is_estimated = reasoning is not None and n_thinking is None
    if is_estimated:
        assert reasoning is not None
        n_thinking = round(n_tokens * len(reasoning) / max(1, len(reasoning) + len(text)))
    if calls and not text.strip():
        text = format_calls(calls)  # After the cut at stop strings, which apply to text only.
    output = Output(text, finish, n_tokens, reasoning, calls=calls, n_thinking_tokens=n_thinking or 0)
    is_end_reported = is_end_reported or finish is Finish.STOP
    return GeneratedText(output, is_end_reported, is_estimated, is_unmarked)


def _detect_finish(
    text: str, choice: Choice, sampling: Sampling, n_tokens: int, limit: int
) -> tuple[str, Finish]:
    """Return a text, cut at stop strings that the server left in it, and why it ended.

    Most servers report `stop` both for a stop string that they removed and for a model that ended its turn.
    Without a stop string in the reply, this counts as END.
    """
    cuts = [at for stop in sampling.stop if (at := text.find(stop)) >= 0]
    if cuts:
        return text[: min(cuts)], Finish.STOP
    if choice.finish_reason in _CUT:
        return text, Finish.LENGTH
    if choice.finish_reason not in _ENDED | _CALLED and n_tokens >= limit:
        return text, Finish.LENGTH
    is_stopped = any(stop in sampling.stop for stop in (choice.stop_reason, choice.matched_stop))
    return text, Finish.STOP if is_stopped else Finish.END


def _strip_begun_reply(text: str, prompt: Prompt) -> str:
    """Return what the model wrote, without the begun reply that some servers repeat in front of it."""
    if isinstance(prompt, str) or prompt[-1].role != "assistant":
        return text
    return text.removeprefix(final_text(prompt))


def count_prompt_tokens(reply: OpenAIReply) -> int:
    """Return the number of prompt tokens, 0 if the server does not report it."""
    return reply.usage.n_read if reply.usage else 0


def get_bill(reply: OpenAIReply) -> Bill:
    """Return what a reply is charged for."""
    return reply.usage.bill if reply.usage else Bill()


def count_written_tokens(reply: OpenAIReply) -> int:
    """Return the number of tokens of all texts together, 0 if the server does not report it."""
    return reply.usage.n_written if reply.usage else 0


# --- list of models ---


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


def read_model_ids(content: bytes) -> list[str]:
    """Return the names in a list of models; raise CallTrouble if the reply is not such a list."""
    try:
        models = msgspec.json.decode(content.removeprefix(BOM_UTF8), type=_Models)
    except (msgspec.DecodeError, UnicodeDecodeError) as trouble:
        raise CallTrouble("wrong_reply", f"the reply is not a list of models: {trouble}") from None
    return [model.id for model in models.data]


_AUDIO_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
"""The audio formats that `input_audio` accepts."""


def build_content(message: Message) -> str | list[dict[str, Any]]:
    """Return the `content` of a message; raise MediaTrouble if one of its media cannot be read."""
    if isinstance(message.content, str):
        return message.content
    return [
        {"type": "text", "text": part.text} if isinstance(part, Text) else _medium(part)
        for part in message.content
    ]


def _medium(part: AnyMedia) -> dict[str, Any]:
    if isinstance(part, Audio) and not part.url and part.media_type in _AUDIO_FORMATS:
        sound = {"data": encode_base64(part), "format": _AUDIO_FORMATS[part.media_type]}
        return {"type": "input_audio", "input_audio": sound}
    kind = f"{part.medium}_url"
    return {"type": kind, kind: {"url": part.url or f"data:{part.media_type};base64,{encode_base64(part)}"}}
