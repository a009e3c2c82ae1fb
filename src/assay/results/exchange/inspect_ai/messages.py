"""Conversations of inspect_ai as prompts and replies, and back."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.media import AnyMedia, Audio, Image, Medium, Part, Text, Video
from assay.core.prompt import Message, Prompt
from assay.core.response import Call, Finish, Output
from assay.results.exchange.imported import ImportedReply
from assay.results.exchange.inspect_ai.schema import NAME, ChatMessage, Choice, Content, Sample
from assay.results.media_store import find_medium
from assay.results.read import StoredRun

_ATTACHMENT = "attachment://"
_RESULT_OF, _ANY_TOOL, _CALLS = "[result of ", "a tool", "[calls "
"""How a run folder shows messages of tools, which only a log of inspect_ai has."""
_RESULT = re.compile(rf"{re.escape(_RESULT_OF)}(?P<name>[^\]]*)\] ")
_CALL = re.compile(r"(?P<name>[\w.-]+)\(")
_FINISHES = {
    "stop": Finish.END,
    "tool_calls": Finish.END,
    "max_tokens": Finish.LENGTH,
    "model_length": Finish.LENGTH,
}
_STOP_REASONS = {Finish.END: "stop", Finish.STOP: "stop", Finish.LENGTH: "max_tokens"}
_MEDIA: Mapping[str, type[AnyMedia]] = {"image": Image, "audio": Audio, "video": Video}
_MEDIA_TYPES = {"mp3": "audio/mpeg", "wav": "audio/wav", "mp4": "video/mp4", "mpeg": "video/mpeg"}


def read_prompt(sample: Sample) -> Prompt | None:
    """Return everything that the model read before its last reply; None if the log does not have it."""
    messages: Sequence[ChatMessage] = sample.messages
    last = max((at for at, one in enumerate(messages) if one.role == "assistant"), default=len(messages))
    before = messages[:last] or ([] if isinstance(sample.input, str) else sample.input)
    if not before:
        return sample.input if isinstance(sample.input, str) and sample.input else None
    return tuple(_read_message(one, sample.attachments) for one in before)


def read_question(sample: Sample) -> Any:
    """Return the input of a sample as a record has it: a text, or messages with roles and contents."""
    if isinstance(sample.input, str):
        return _resolve(sample.input, sample.attachments)
    return [
        {"role": one.role, "content": _read_message(one, sample.attachments).display_text}
        for one in sample.input
    ]


def read_replies(sample: Sample, model: str) -> list[ImportedReply]:
    """Return the texts that the model wrote last in one epoch of a sample."""
    usage = sample.output.usage
    whole = sample.model_usage.get(model)
    turns = [
        _read_text(one.content, sample.attachments) for one in sample.messages if one.role == "assistant"
    ]
    if len(turns) > 1 and whole is not None:
        usage = whole
    return [
        ImportedReply(
            text=_read_text(choice.message.content, sample.attachments) or _write_calls(choice),
            finish=_FINISHES.get(choice.stop_reason, Finish.UNKNOWN),
            n_tokens=usage.output_tokens if usage and not index else 0,
            n_prompt_tokens=usage.input_tokens if usage and not index else 0,
            reasoning=_read_reasoning(choice.message.content, sample.attachments),
            turns=tuple(turns) if len(turns) > 1 and not index else (),
            calls=tuple(
                Call(call.function, _encode(call.arguments)) for call in choice.message.tool_calls or ()
            ),
            seconds=sample.output.time or 0.0,
        )
        for index, choice in enumerate(sample.output.choices)
    ]


def build_messages(prompt: Prompt, run: StoredRun) -> list[dict[str, Any]]:
    """Return a prompt as messages, with the media that the run stores."""
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}]
    imported = run.manifest.imported
    if imported is None or imported.format != NAME:
        return [{"role": one.role, "content": _build_content(one, run.path)} for one in prompt]
    return _restore_tools(prompt, run.path)


def build_reply(output: Output, model: str) -> dict[str, Any]:
    """Return a text of the model as a choice of an output."""
    content: Any = output.text
    if output.reasoning is not None:
        content = [
            {"type": "reasoning", "reasoning": output.reasoning},
            {"type": "text", "text": output.text},
        ]
    message: dict[str, Any] = {"role": "assistant", "content": content, "source": "generate", "model": model}
    if output.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}",
                "function": call.name,
                "arguments": _decode_arguments(call.arguments),
                "type": "function",
            }
            for number, call in enumerate(output.calls)
        ]
    return {"message": message, "stop_reason": _STOP_REASONS.get(output.finish, "unknown")}


def _read_message(message: ChatMessage, attachments: Mapping[str, str]) -> Message:
    """Return a message. The result of a tool is shown as a user's message that names the tool."""
    parts = list(_read_parts(message.content, attachments))
    if message.role == "tool":
        parts.insert(0, Text(f"{_RESULT_OF}{message.function or _ANY_TOOL}] "))
        return Message("user", _join(parts))
    if message.tool_calls:
        called = ", ".join(f"{one.function}({_encode(one.arguments)})" for one in message.tool_calls)
        parts.append(Text(f"{chr(10) if parts else ''}{_CALLS}{called}]"))
    if message.role == "assistant":
        return Message("assistant", _join(parts))
    return Message("system" if message.role == "system" else "user", _join(parts))


def _join(parts: Sequence[Part]) -> str | tuple[Part, ...]:
    if all(isinstance(part, Text) for part in parts):
        return "".join(part.text for part in parts if isinstance(part, Text))
    return tuple(parts)


def _read_parts(content: Content, attachments: Mapping[str, str]) -> list[Part]:
    if isinstance(content, str):
        return [Text(_resolve(content, attachments))] if content else []
    parts: list[Part] = []
    for one in content:
        kind = one.get("type")
        if kind == "text":
            parts.append(Text(_resolve(str(one.get("text", "")), attachments)))
        elif kind in _MEDIA:
            parts.append(_read_medium(str(kind), one, attachments))
        elif kind not in ("reasoning", "tool_use"):
            parts.append(Text(f"[{kind}]"))
    return parts


def _read_medium(kind: str, part: Mapping[str, Any], attachments: Mapping[str, str]) -> AnyMedia:
    address = _resolve(str(part.get(kind, "")), attachments)
    of = _MEDIA[kind]
    if not address.startswith("data:"):
        is_url = "://" in address
        return of(
            media_type=_MEDIA_TYPES.get(str(part.get("format")), ""),
            url=address if is_url else "",
            path="" if is_url else address,
        )
    head, _, data = address.partition(",")
    try:
        content = base64.b64decode(data)
    except (binascii.Error, ValueError):
        content = b""
    return of(
        media_type=head.removeprefix("data:").partition(";")[0],
        sha256=hashlib.sha256(content).hexdigest() if content else "",
        n_bytes=len(content),
        data=data,
    )


def _read_text(content: Content, attachments: Mapping[str, str]) -> str:
    joined = _join(_read_parts(content, attachments))
    return joined if isinstance(joined, str) else Message("assistant", joined).display_text


def _read_reasoning(content: Content, attachments: Mapping[str, str]) -> str | None:
    if isinstance(content, str):
        return None
    found = [str(one.get("reasoning", "")) for one in content if one.get("type") == "reasoning"]
    return "\n".join(_resolve(text, attachments) for text in found) if found else None


def _resolve(text: str, attachments: Mapping[str, str]) -> str:
    """Return a text; a log stores long ones once, as attachments."""
    if not text.startswith(_ATTACHMENT):
        return text
    return attachments.get(text.removeprefix(_ATTACHMENT), text)


def _write_calls(choice: Choice) -> str:
    calls = choice.message.tool_calls
    return _encode([{"name": one.function, "arguments": one.arguments} for one in calls]) if calls else ""


def _restore_tools(prompt: Sequence[Message], run: Path) -> list[dict[str, Any]]:
    """Return messages of an imported log, with calls and results of tools as the log had them."""
    messages: list[dict[str, Any]] = []
    waiting: list[str] = []
    for one in prompt:
        content = _build_content(one, run)
        text = content if isinstance(content, str) else ""
        begin, mark, called = text.rpartition(_CALLS)
        calls = _read_calls(called) if mark and one.role == "assistant" else []
        result = _RESULT.match(text) if one.role == "user" else None
        if calls:
            first = sum(len(message.get("tool_calls", ())) for message in messages)
            for number, call in enumerate(calls, first):
                call |= {"id": f"call_{number}", "type": "function"}
            waiting = [call["id"] for call in calls]
            messages.append({"role": one.role, "content": begin.removesuffix("\n"), "tool_calls": calls})
        elif result is not None:
            name = result["name"]
            answered = {"tool_call_id": waiting.pop(0)} if waiting else {}
            named = {} if name == _ANY_TOOL else {"function": name}
            messages.append({"role": "tool", "content": text[result.end() :], **named, **answered})
        else:
            messages.append({"role": one.role, "content": content})
    return messages


def _read_calls(text: str) -> list[dict[str, Any]]:
    """Return the calls of `name({...}), name({...})]`; none if the text is anything else."""
    calls: list[dict[str, Any]] = []
    while (call := _CALL.match(text)) is not None:
        try:
            arguments, end = json.JSONDecoder().raw_decode(text, call.end())
        except ValueError:
            return []
        calls.append({"function": call["name"], "arguments": _decode_arguments(_encode(arguments))})
        text = text[end:].removeprefix("), ")
    return calls if text == ")]" else []


def _build_content(message: Message, run: Path) -> Any:
    if isinstance(message.content, str):
        return message.content
    return [_build_part(part, run) for part in message.content]


def _build_part(part: Part, run: Path) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    stored = find_medium(run, part.sha256) if part.sha256 else None
    if stored is not None:
        data = base64.b64encode(stored.path.read_bytes()).decode()
        address = f"data:{stored.media_type};base64,{data}"
        format_name = {} if part.medium is Medium.IMAGE else {"format": stored.path.suffix.removeprefix(".")}
        return {"type": part.medium.value, part.medium.value: address, **format_name}
    if part.url and part.medium is Medium.IMAGE:
        return {"type": "image", "image": part.url}
    return {"type": "text", "text": str(part)}


def _decode_arguments(text: str) -> Any:
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {"arguments": text}
    return value if isinstance(value, dict) else {"arguments": value}


def _encode(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
