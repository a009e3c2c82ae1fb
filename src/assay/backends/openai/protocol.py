"""The protocol of OpenAI-compatible servers: what is sent for an ask, and what a reply says about it.

    POST .../chat/completions {"model", "messages", ...}     POST .../completions {"model", "prompt", ...}

A reply is read alike whether it came whole or token by token: `openai_stream` puts the pieces together.

No sockets here: media files are read when a body is written, nothing else is.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from assay.backends.http.post import CallTrouble, not_json_error
from assay.backends.openai.arguments import Api, OpenAISettings
from assay.backends.openai.message_parts import build_content
from assay.backends.openai.tools import ToolCall, format_calls, read_calls
from assay.backends.repeats import count_drawn_texts, draw_repeat_seed
from assay.core.prompt import Prompt, final_text
from assay.core.request import Generate, Request, Sampling
from assay.core.response import Failure, Finish, Output

PATHS: dict[Api, str] = {"chat": "/chat/completions", "completions": "/completions"}

_ENDED = {"stop", "eos", "eos_token", "end_turn", "stop_sequence"}
_CUT = {"length", "max_tokens", "max_output_tokens", "model_length"}
_BROKEN_OFF = {"abort", "cancelled", "error", "insufficient_system_resource"}
"""The server gave up on a text that it had begun; another time it may not."""
_CALLED = {"tool_calls", "function_call"}
_FILTERED = "content_filter"
_TOO_MANY = 429
MOST_TOKENS = 10**9
"""No call reads or writes more; a server that says so counts wrong."""


# --- what is sent ---


@dataclass(frozen=True, slots=True, eq=False)
class GenerationPart:
    """Texts of one request that one call asks for."""

    request: Request
    ask: Generate
    number: int
    """Which of the request's texts is the first of them."""
    n_texts: int

    @property
    def seed(self) -> int | None:
        """Return the seed of its first text; None where nothing is drawn."""
        return draw_repeat_seed(self.ask.sampling, self.request.index, self.number)

    def after(self, n_written: int) -> GenerationPart:
        """Return what is still owed when so many texts are there."""
        return GenerationPart(self.request, self.ask, self.number + n_written, self.n_texts - n_written)


def split_generation(request: Request, asked: OpenAISettings) -> list[GenerationPart] | Failure:
    """Return what to ask for a request, or why it cannot be answered."""
    ask = request.ask
    assert isinstance(ask, Generate), "likelihoods and probabilities are asked for by openai_scoring"
    if isinstance(ask.prompt, tuple) and asked.args.api == "completions":
        return Failure("chat", "api=completions takes plain text; it was asked with a conversation")
    if not ask.prompt:
        return Failure("empty", "the prompt is empty")
    if ask.sampling.max_tokens < 1:
        return Failure("max_tokens", "max_tokens is below 1: there is nothing to write")
    # Where the run does not set the temperature, the server may sample.
    n_texts = count_drawn_texts(ask.sampling) if asked.decoding is None else ask.sampling.n
    step = asked.args.n_per_call
    return [
        GenerationPart(request, ask, first, min(step, n_texts - first)) for first in range(0, n_texts, step)
    ]


def select_api(prompt: Prompt, asked: OpenAISettings) -> Api:
    """Return where a prompt goes: conversations to chat, texts to completions, unless a person said.

    Tools can be offered in chats alone: with them, a text is one message of the user.
    """
    is_text = isinstance(prompt, str) and not asked.tools
    return asked.args.api or ("completions" if is_text else "chat")


def build_body(
    ask: Generate,
    model: str,
    asked: OpenAISettings,
    *,
    is_stream: bool,
    seed: int | None = None,
    n_texts: int = 1,
) -> dict[str, Any]:
    """Return the body of a call; raise MediaTrouble when a medium of its prompt cannot be read."""
    fields = {
        "model": model,
        **build_prompt_fields(ask.prompt, select_api(ask.prompt, asked)),
        **_decoding(ask.sampling, asked, seed, n_texts),
        **asked.fields,
    }
    if set(ask.sampling.stop) > set(get_stop_texts(asked)):
        fields["stop"] = list(ask.sampling.stop)
    if is_stream:
        fields |= {"stream": True, "stream_options": {"include_usage": True}}
    elif asked.decoding is not None:
        fields["stream"] = False
    return adapt_fields(fields, asked)


def adapt_fields(fields: Mapping[str, Any], asked: OpenAISettings) -> dict[str, Any]:
    """Return the fields of a body as the server wants them: without some, one by another name."""
    sent = {name: value for name, value in fields.items() if name not in asked.omitted}
    if "max_tokens" in sent:
        sent[asked.args.max_tokens_name] = sent.pop("max_tokens")
    return sent


def build_prompt_fields(prompt: Prompt, api: Api) -> dict[str, Any]:
    """Return the fields that hold a prompt; may raise MediaTrouble."""
    if isinstance(prompt, str):
        return {"prompt": prompt} if api == "completions" else {"messages": [_build_message("user", prompt)]}
    fields: dict[str, Any] = {
        "messages": [_build_message(message.role, build_content(message)) for message in prompt]
    }
    if prompt[-1].role == "assistant":
        # A begun reply is continued only by servers that are told to. One that does not know these fields
        # says so or goes on all the same; left out, most would answer the begun reply with another turn.
        fields |= {"continue_final_message": True, "add_generation_prompt": False}
    return fields


def _build_message(role: str, content: str | list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": role, "content": content}


def get_stop_texts(asked: OpenAISettings) -> Sequence[str]:
    """Return the stop texts that the model's own arguments hold."""
    stop = (asked.decoding or {}).get("stop") or ()
    return (stop,) if isinstance(stop, str) else stop


def _decoding(sampling: Sampling, asked: OpenAISettings, seed: int | None, n_texts: int) -> dict[str, Any]:
    if asked.decoding is not None:
        return {"max_tokens": sampling.max_tokens}
    fields: dict[str, Any] = {"max_tokens": sampling.max_tokens, "temperature": sampling.temperature}
    if sampling.temperature > 0:
        # Sent also where it is 1: a server may have another default, such as the checkpoint's own.
        fields["top_p"] = sampling.top_p
    if sampling.stop:
        fields["stop"] = list(sampling.stop)
    if seed is not None:
        fields["seed"] = seed
    if n_texts > 1:
        fields["n"] = n_texts
    return fields


# --- what comes back ---


class ContentPart(msgspec.Struct):
    """A part of what was said, as servers write it that may send pictures too."""

    type: str = "text"
    text: str | None = None


class ReplyMessage(msgspec.Struct):
    """A message of the model, or a piece of one."""

    content: str | list[ContentPart] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    """The same by another name: servers use one of them, or both with the same text."""
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


class Usage(msgspec.Struct):
    """What the server counted."""

    prompt_tokens: Any = None
    completion_tokens: Any = None

    @property
    def n_read(self) -> int:
        """Return the tokens of the prompt, 0 where the server does not say."""
        return read_token_count(self.prompt_tokens)

    @property
    def n_written(self) -> int:
        """Return the tokens of all texts together, 0 where the server does not say."""
        return read_token_count(self.completion_tokens)


def read_token_count(told: Any) -> int:
    """Return a number of tokens. What cannot be one is not told: an answer is none the worse for it."""
    is_number = isinstance(told, int | float) and 0 <= told <= MOST_TOKENS
    return int(told) if is_number else 0


class OpenAIReply(msgspec.Struct):
    """A reply, or a piece of one."""

    choices: list[Choice] = []
    usage: Usage | None = None
    error: Any = None
    message: Any = None
    """Where there are no choices: what went wrong, as servers say that send the fields of an error bare."""
    code: Any = None


class GeneratedText(NamedTuple):
    """A text, and whether the server said why it ended."""

    output: Output
    is_end_said: bool


_decoder = msgspec.json.Decoder(OpenAIReply)


def decode_reply(content: bytes) -> OpenAIReply:
    """Return a reply; raise CallTrouble when it is none, or says that something went wrong."""
    try:
        reply = _decoder.decode(content.removeprefix(BOM_UTF8))
    except msgspec.ValidationError as trouble:
        raise CallTrouble("wrong_reply", f"the reply is not what the protocol says: {trouble}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):  # The latter of bytes that are no UTF-8.
        raise not_json_error(content) from None
    if reply.error is not None:
        raise read_server_error(reply.error)
    if reply.message and not reply.choices:
        raise read_server_error({"message": reply.message, "code": reply.code})
    return reply


def read_server_error(error: Any) -> CallTrouble:
    """Return the trouble that a reply of status 200 speaks of, as servers do that had begun to answer."""
    described = error if isinstance(error, dict) else {"message": str(error)}
    code = str(described.get("code"))
    is_ours = code.isdecimal() and 400 <= int(code) < 500 and int(code) != _TOO_MANY
    message = f"the server says: {described.get('message') or error}"
    return CallTrouble("server", message, may_pass=not is_ours)


def check_reply(reply: OpenAIReply) -> OpenAIReply:
    """Return a whole reply that can be read; raise CallTrouble when asking again may bring a better one."""
    if not reply.choices:
        raise CallTrouble("wrong_reply", "the reply holds no choices")
    for choice in reply.choices:
        if choice.finish_reason in _BROKEN_OFF:
            why = f"the server broke the text off: finish_reason {choice.finish_reason!r}"
            raise CallTrouble("broken_off", why, may_pass=True)
    return reply


def join_content(content: str | list[ContentPart] | None) -> str | None:
    """Return what was said, also where it came in parts; raise CallTrouble where a part is no text."""
    if not isinstance(content, list):
        return content
    for part in content:
        if part.text is None:
            raise CallTrouble(
                "wrong_reply", f"the reply holds a part of type {part.type!r}, which is no text"
            )
    return "".join(part.text or "" for part in content)


def read_texts(
    reply: OpenAIReply, ask: Generate, *, offers_tools: bool = False
) -> list[GeneratedText] | Failure:
    """Return the texts of a reply, or why one is no answer. Calls are one where tools were offered."""
    usage = reply.usage or Usage()
    # Servers count several texts together, or only the first: the share of one is not known.
    n_tokens = usage.n_written if len(reply.choices) == 1 else 0
    written: list[GeneratedText] = []
    for choice in sorted(reply.choices, key=lambda one: one.index or 0):
        one = _read_generated(choice, ask, n_tokens, offers_tools=offers_tools)
        if isinstance(one, Failure):
            return one
        written.append(one)
    return written


def _read_generated(
    choice: Choice, ask: Generate, n_tokens: int, *, offers_tools: bool
) -> GeneratedText | Failure:
    said = choice.message or ReplyMessage()
    text = choice.text if choice.text is not None else join_content(said.content)
    calls = read_calls(said.tool_calls) if offers_tools else ()
    if text is None:
        text = said.refusal
    reason = choice.finish_reason
    if reason == _FILTERED:
        return Failure(_FILTERED, "the server's filter held the answer back")
    if not text and reason in _CALLED and not calls:
        why = "and the server does not say which" if offers_tools else "no tools were offered"
        return Failure("tool_calls", f"the model called a tool instead of answering; {why}")
    is_end_said = reason in _ENDED or reason in _CUT or bool(calls and reason in _CALLED)
    if text is None and not calls and not is_end_said:
        return Failure("no_text", f"the reply holds no text, and finish_reason {reason!r}")
    # With a reason, no text is an answer too: the model ended at once, or its thoughts took all the room.
    text = _strip_begun_reply(text or "", ask.prompt)
    text, finish = _detect_finish(text, choice, ask.sampling, n_tokens)
    if calls and not text.strip():
        text = format_calls(calls)  # After the cut at stop strings: those are for what is said.
    reasoning = said.reasoning_content or said.reasoning or None
    output = Output(text, finish, n_tokens, reasoning, calls=calls)
    return GeneratedText(output, is_end_said or finish is Finish.STOP)


def _detect_finish(text: str, choice: Choice, sampling: Sampling, n_tokens: int) -> tuple[str, Finish]:
    """Return a text, cut at stop strings that the server left in it, and why it ended.

    Most servers say `stop` both for a stop string that they cut away and for a model that ended its turn;
    those count as END where the server names no stop string.
    """
    cuts = [at for stop in sampling.stop if (at := text.find(stop)) >= 0]
    if cuts:
        return text[: min(cuts)], Finish.STOP
    if choice.finish_reason in _CUT:
        return text, Finish.LENGTH
    if choice.finish_reason not in _ENDED | _CALLED and n_tokens >= sampling.max_tokens:
        return text, Finish.LENGTH
    is_stopped = any(stop in sampling.stop for stop in (choice.stop_reason, choice.matched_stop))
    return text, Finish.STOP if is_stopped else Finish.END


def _strip_begun_reply(text: str, prompt: Prompt) -> str:
    """Return what the model wrote: some servers repeat the begun reply in front of it, others do not."""
    if isinstance(prompt, str) or prompt[-1].role != "assistant":
        return text
    return text.removeprefix(final_text(prompt))


def count_prompt_tokens(reply: OpenAIReply) -> int:
    """Return the tokens of the prompt, 0 when the server does not say."""
    return reply.usage.n_read if reply.usage else 0


def count_written_tokens(reply: OpenAIReply) -> int:
    """Return the tokens of all texts together, 0 when the server does not say."""
    return reply.usage.n_written if reply.usage else 0


# --- which models there are ---


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


def read_model_ids(content: bytes) -> list[str]:
    """Return the names in a list of models; raise CallTrouble when it is none."""
    try:
        models = msgspec.json.decode(content.removeprefix(BOM_UTF8), type=_Models)
    except (msgspec.DecodeError, UnicodeDecodeError) as trouble:
        raise CallTrouble("wrong_reply", f"this is no list of models: {trouble}") from None
    return [model.id for model in models.data]
