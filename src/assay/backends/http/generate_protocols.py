"""The protocols of TGI (text-generation-inference) and of Triton's generate extension.

    POST .../generate | /generate_stream                     {"inputs", "parameters": {...}}
    POST .../v2/models/NAME/generate | /generate_stream      {"text_input", "parameters": {...}}

Both continue one plain text. Their replies are converted to the form of an OpenAI-compatible reply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from assay.backends.http.exchange import HttpReply
from assay.backends.http.post import CallTrouble, not_json_error
from assay.backends.http.text_protocol import Arguments, BearerKey
from assay.backends.openai.address import Address, parse_address
from assay.backends.openai.arguments import OpenAISettings, read_openai_settings
from assay.backends.openai.model_report import Report, fetch_json, select_plain_fields
from assay.backends.openai.protocol import (
    Choice,
    OpenAIReply,
    Usage,
    adapt_fields,
    get_stop_texts,
    read_server_error,
)
from assay.backends.openai.reply_reader import OpenAIReplyReader
from assay.backends.openai.stream import StreamedReply
from assay.backends.problems import argument_error, unknown_model_error
from assay.core.request import Generate, Sampling

_CALLS = ("/generate", "/generate_stream")
_CHAT_ARGUMENTS = ("api", "n_per_call", "tools", "tool_choice", "thinking", "thoughts")
_UNKNOWN_FINISH = "unsaid"
"""Finish reason of a text whose server reported none."""
_STATUS_OF_TYPE = {"validation": 422, "overloaded": 429}
"""TGI names the type of an error inside a stream, where there is no HTTP status."""
_TGI_LENGTH = "max_new_tokens"
_TGI_EXAMPLE = "write tgi:@http://127.0.0.1:8080"
_TRITON_EXAMPLE = "write triton:MODEL@http://127.0.0.1:8000"


class TgiProtocol(BearerKey):
    """TGI's own protocol. A server serves one model, so the model's name is only a label."""

    name = "tgi"
    lists_models = False

    def read_address(self, where: str) -> Address:
        """Return the server's address, or raise MODEL-001."""
        fix = "give the address without a path; for a server's /v1, write openai:MODEL@URL/v1"
        return parse_address(where, self.name, _TGI_EXAMPLE, calls=_CALLS, fix=fix)

    def read_settings(self, args: Mapping[str, str]) -> OpenAISettings:
        """Return the model arguments, or raise MODEL-002."""
        return _read_generate_settings(self.name, {"max_tokens_name": _TGI_LENGTH, **args})

    def collect_identity_args(self, settings: OpenAISettings) -> Arguments:
        """Return the arguments that change answers, without the protocol's default name for the length."""
        changed = settings.collect_identity_args()
        if changed.get("max_tokens_name") == _TGI_LENGTH:
            del changed["max_tokens_name"]
        return changed

    def path(self, ask: Generate, model: str, settings: OpenAISettings, *, is_stream: bool) -> str:
        """Return the path of a call."""
        return _CALLS[is_stream]

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
        """Return the body of a call."""
        prompt = _plain_text(ask, self.name)
        own: dict[str, Any] = {}
        if settings.decoding is None:
            own = {**_tgi_decoding(ask.sampling, seed), "details": True}
        return {"inputs": prompt, "parameters": _parameters(ask.sampling, own, settings)}

    def create_reader(self, ask: Generate) -> OpenAIReplyReader:
        """Return the reader of the reply to one attempt."""
        return OpenAIReplyReader(_TgiStream, _read_tgi)

    def report(self, url: str, model: str, key: str | None) -> Report | None:
        """Return the model's name and revision, from `GET /info`."""
        info = fetch_json(url, "/info", key)
        report = (
            select_plain_fields(info, ("model_id", "model_sha", "model_dtype"))
            if isinstance(info, dict)
            else {}
        )
        return report or None


class TritonProtocol(BearerKey):
    """Triton's generate extension. Each model defines its own parameters."""

    name = "triton"
    lists_models = False

    def __init__(self) -> None:
        self._is_flat = False

    def read_address(self, where: str) -> Address:
        """Return the model's address, or raise MODEL-001."""
        fix = "give the address without a path, and a model that the server has loaded"
        address = parse_address(where, self.name, _TRITON_EXAMPLE, calls=_CALLS, fix=fix)
        if not address.model:
            raise unknown_model_error("triton needs the name of a model before the @", _TRITON_EXAMPLE)
        return address

    def read_settings(self, args: Mapping[str, str]) -> OpenAISettings:
        """Return the model arguments, or raise MODEL-002."""
        fields = args.get("fields", "parameters")
        if fields not in ("parameters", "top"):
            raise argument_error(
                f"triton argument fields={fields!r:.60}", "write fields=parameters or fields=top"
            )
        self._is_flat = fields == "top"
        return _read_generate_settings(
            self.name, {name: value for name, value in args.items() if name != "fields"}
        )

    def collect_identity_args(self, settings: OpenAISettings) -> Arguments:
        """Return the arguments that change answers: a model ignores a parameter in another place."""
        return {**settings.collect_identity_args(), **({"fields": "top"} if self._is_flat else {})}

    def path(self, ask: Generate, model: str, settings: OpenAISettings, *, is_stream: bool) -> str:
        """Return the path of a call."""
        return f"/v2/models/{quote(model)}{_CALLS[is_stream]}"

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
        """Return the body of a call.

        Parameters are texts, numbers and booleans, so a list of stop texts cannot be sent. The reader cuts
        texts at them instead.
        """
        text = {"text_input": _plain_text(ask, self.name)}
        own: dict[str, Any] = {}
        if settings.decoding is None:
            own = {"temperature": ask.sampling.temperature, "stream": is_stream}
            if ask.sampling.temperature > 0:
                own["top_p"] = ask.sampling.top_p
            if seed is not None:
                own["seed"] = seed
        parameters = _parameters(ask.sampling, own, settings, sends_stop=False)
        return {**text, **parameters} if self._is_flat else {**text, "parameters": parameters}

    def create_reader(self, ask: Generate) -> OpenAIReplyReader:
        """Return the reader of the reply to one attempt."""
        return _TritonReplyReader(_plain_text(ask, self.name))

    def report(self, url: str, model: str, key: str | None) -> Report | None:
        """Return the model's name, platform and versions, from `GET /v2/models/NAME`."""
        entry = fetch_json(url, f"/v2/models/{quote(model)}", key)
        if not isinstance(entry, dict):
            return None
        report = select_plain_fields(entry, ("name", "platform"))
        versions = entry.get("versions")
        if isinstance(versions, list):
            report["versions"] = ",".join(map(str, versions))
        return report or None


# --- request ---


def _read_generate_settings(backend: str, args: Mapping[str, str]) -> OpenAISettings:
    for name in _CHAT_ARGUMENTS:
        if name in args:
            what = f"{backend} argument {name}: the protocol can only continue one plain text"
            raise argument_error(
                what, f"remove {name}, or use the server's OpenAI-compatible address: openai:MODEL@URL/v1"
            )
    return read_openai_settings(args, backend)


def _plain_text(ask: Generate, backend: str) -> str:
    if isinstance(ask.prompt, str):
        return ask.prompt
    what = f"{backend} accepts only plain text, but the prompt is a conversation"
    raise argument_error(
        what, "add --text, or use the server's OpenAI-compatible address: openai:MODEL@URL/v1"
    )


def _parameters(
    sampling: Sampling, own: Mapping[str, Any], settings: OpenAISettings, *, sends_stop: bool = True
) -> dict[str, Any]:
    """Return the parameters of a call: the run's own, and those set by model arguments."""
    fields = {"max_tokens": sampling.max_tokens, **own, **settings.fields}
    if sends_stop and set(sampling.stop) > set(get_stop_texts(settings)):
        fields["stop"] = list(sampling.stop)
    return adapt_fields(fields, settings)


def _tgi_decoding(sampling: Sampling, seed: int | None) -> dict[str, Any]:
    """Return the decoding parameters; the server rejects a temperature of 0 and a top_p of 1."""
    if sampling.temperature == 0:
        return {"do_sample": False}
    fields: dict[str, Any] = {"do_sample": True, "temperature": sampling.temperature}
    if sampling.top_p < 1:
        fields["top_p"] = sampling.top_p
    if seed is not None:
        fields["seed"] = seed
    return fields


# --- reply ---


def _document(content: bytes) -> dict[str, Any]:
    """Return the object in a reply or an event; raise CallTrouble if there is none or it reports an error."""
    try:
        document = json.loads(content)
    except ValueError:
        raise not_json_error(content) from None
    if isinstance(document, list) and len(document) == 1:
        document = document[0]  # Some gateways answer with a list of one.
    if not isinstance(document, dict):
        kind = type(document).__name__
        raise CallTrouble("wrong_reply", f"expected a JSON object, but the server sent a {kind}")
    if document.get("error"):
        status = _STATUS_OF_TYPE.get(str(document.get("error_type")))
        raise read_server_error({"message": document["error"], "code": status})
    return document


def _text(document: Mapping[str, Any], name: str) -> str:
    text = document.get(name)
    if not isinstance(text, str):
        raise CallTrouble("wrong_reply", f"the reply has no text {name!r}")
    return text


def _tgi_reply(text: str | None, details: Any) -> OpenAIReply:
    """Return a reply, or a piece of one, from its text and the server's details."""
    if not isinstance(details, dict):
        return OpenAIReply([Choice(0, text=text)])
    usage = Usage(details.get("input_length"), details.get("generated_tokens"))
    return OpenAIReply([Choice(0, str(details.get("finish_reason") or _UNKNOWN_FINISH), text=text)], usage)


def _read_tgi(content: bytes) -> OpenAIReply:
    document = _document(content)
    return _tgi_reply(_text(document, "generated_text"), document.get("details"))


class _TgiStream(StreamedReply):
    """Tokens one by one; the last event contains the whole text as well, without special tokens."""

    def __init__(self) -> None:
        super().__init__()
        self._whole: str | None = None

    def decode(self, data: bytes) -> OpenAIReply:
        document = _document(data)
        token = document.get("token")
        piece = token.get("text") if isinstance(token, dict) and not token.get("special") else None
        if isinstance(whole := document.get("generated_text"), str):
            self._whole = whole
            return _tgi_reply(piece, document.get("details") or {})
        return _tgi_reply(piece, None)

    def join_reply(self) -> OpenAIReply:
        reply = super().join_reply()
        if self._whole is not None:
            reply.choices[0].text = self._whole
        return reply


class _TritonStream(StreamedReply):
    """Pieces of a text. There is no last event: the text ends with the reply."""

    def decode(self, data: bytes) -> OpenAIReply:
        return _triton_reply(_document(data))


def _triton_reply(document: Mapping[str, Any]) -> OpenAIReply:
    reason = document.get("finish_reason")
    return OpenAIReply(
        [
            Choice(
                0, reason if isinstance(reason, str) else _UNKNOWN_FINISH, text=_text(document, "text_output")
            )
        ]
    )


def _read_triton(content: bytes) -> OpenAIReply:
    return _triton_reply(_document(content))


class _TritonReplyReader(OpenAIReplyReader):
    """Removes the prompt from a text: some models on Triton repeat it first."""

    def __init__(self, prompt: str) -> None:
        super().__init__(_TritonStream, _read_triton)
        self._prompt = prompt

    def join_reply(self, reply: HttpReply) -> OpenAIReply:
        whole = super().join_reply(reply)
        for choice in whole.choices:
            choice.text = (choice.text or "").removeprefix(self._prompt)
        return whole
