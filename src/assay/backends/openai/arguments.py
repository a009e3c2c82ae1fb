"""Arguments of a model behind an OpenAI-compatible address, and which of them change answers."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from assay.backends.arguments import read_arguments, read_thinking_argument
from assay.backends.openai.thinking import BUDGET_FIELD
from assay.backends.openai.tools import Tools, read_tool_choice, read_tools
from assay.backends.problems import argument_error, rejected_key_error, thinking_error
from assay.core.errors import listing, suggest_name
from assay.core.ids import digest
from assay.core.sampling_bounds import MinP, Penalty, RepetitionPenalty, TopK, describe_expected_value
from assay.core.secrets import find_secret_name
from assay.core.thinking import Thinking

Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
Api: TypeAlias = Literal["chat", "completions"]

EXTRA = "extra."
"""Prefix of an argument that names a field of the body: the server knows the field, Assay does not."""
DEFAULT_KEY = "OPENAI_API_KEY"
OMITTABLE = (
    "max_tokens",
    "temperature",
    "top_p",
    "stop",
    "seed",
    "stream",
    "stream_options",
    "continue_final_message",
    "add_generation_prompt",
)
_ELSEWHERE = {
    "model": "write openai:MODEL@URL",
    "messages": "the dataset writes them",
    "prompt": "the dataset writes it",
    "n": "use --samples",
    "max_tokens": "use --max-tokens",
    "max_completion_tokens": "use --max-tokens, and --model-arg max_tokens_name=max_completion_tokens",
    "temperature": "use --temperature",
    "top_p": "use --top-p",
    "stop": "use --stop",
    "seed": "use --seed",
    "stream": "use --model-arg stream=true",
    "stream_options": "use --model-arg stream=true",
    "continue_final_message": "Assay sends it when a reply is begun",
    "add_generation_prompt": "Assay sends it when a reply is begun",
    "tools": "use --model-arg tools=FILE.json",
    "tool_choice": "use --model-arg tool_choice=NAME",
}
"""Fields that Assay writes itself, and how to set them."""
_DECODING = ("temperature", "top_p", "stop", "seed", "n")
"""Those of them that `decoding` may contain."""
_SCORING = (*_DECODING, "max_tokens", "stream")
"""Those of them that `scoring_fields` may contain."""
_TEXT_ONLY_FIELDS = ("num_return_sequences", "logprobs", "top_logprobs")
"""Further fields that belong only to generation requests, not to likelihood requests."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEY = re.compile(r"[!-~]+")


class Decoding(msgspec.Struct, frozen=True, omit_defaults=True):
    """Decoding settings that not every server supports; sent unchanged, with the names of vLLM's server."""

    top_k: TopK | None = None
    """Sample from this many of the likeliest tokens."""
    min_p: MinP | None = None
    """Sample from tokens with at least this fraction of the likeliest token's probability."""
    repetition_penalty: RepetitionPenalty | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None


class OpenAIArgs(Decoding, frozen=True, omit_defaults=True):
    """Arguments of the client."""

    api: Api | None = None
    """The API for all prompts. None: chat for conversations, completions for texts."""
    stream: bool | None = None
    """Whether to stream answers. None: stream unless the server does not support it."""
    concurrency: Positive | None = None
    """Maximum concurrent requests. None: auto."""
    n_per_call: Positive = 1
    """Texts per call, if several are sampled for a prompt."""
    timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 600.0
    """Timeout of one attempt."""
    idle_s: Annotated[float, msgspec.Meta(gt=0)] = 120.0
    """Maximum pause of a stream after its first piece."""
    retries: Annotated[int, msgspec.Meta(ge=0)] = 5
    """Attempts after the first, if the error may be temporary."""
    retry_wait_s: Annotated[float, msgspec.Meta(ge=0)] = 1.0
    """Wait before the first retry, reduced by up to half at random; doubles each time, at most 60 s."""
    key_env: str | None = None
    """The environment variable with the API key. None: OPENAI_API_KEY, if it is set."""
    max_tokens_name: Literal["max_tokens", "max_completion_tokens", "max_new_tokens"] = "max_tokens"
    """The server's name for the maximum length of an answer."""
    retry_statuses: bool = True
    """Whether to retry HTTP 429 and 5xx, in addition to lost connections."""
    omit: str = ""
    """Fields not to send, separated by commas."""
    decoding: str | None = None
    """The decoding fields of every body, as a JSON object, sent unchanged. None: those of the run."""
    scoring_fields: str | None = None
    """Further fields of requests for the likelihood of a text (SPAN), a JSON object. None: none."""
    tools: str | None = None
    """The tools offered to the model: a JSON list, or a file that contains one."""
    tool_choice: str | None = None
    """Which tool the model must call: auto, none, required, or the name of one."""
    batch: Literal["resume", "new"] | None = None
    """Send all requests through the provider's batch endpoint: `resume` uses batches of earlier starts."""
    batch_poll_s: Annotated[float, msgspec.Meta(gt=0)] = 30.0
    """Seconds between two looks at a batch."""
    thinking: str | None = None
    """`on`, `off`, an effort, or the maximum tokens of a thought. None: the server's default."""
    thinking_budget_name: str = BUDGET_FIELD
    """The server's name for the maximum tokens of a thought."""
    thoughts: Literal["apart", "inline"] = "apart"
    """`inline`: leave thoughts in the answers if the server does, as systems do that know no thoughts."""


class OpenAISettings(msgspec.Struct, frozen=True):
    """The arguments, parsed."""

    args: OpenAIArgs
    extra: dict[str, Any]
    """Further fields of the body."""
    omitted: frozenset[str]
    tools: Tools = ()
    """The tools offered to the model."""
    decoding: dict[str, Any] | None = None
    """The decoding fields of every body, instead of the run's own."""
    thinking: Thinking | None = None
    """How much the model thinks; None: the server's default."""
    scoring: dict[str, Any] = {}
    """Further fields of the bodies that request the likelihood of a text (SPAN); LABELS omits them."""

    @property
    def fields(self) -> dict[str, Any]:
        """Return the fields of every body that model arguments set."""
        named = {
            name: value
            for name in Decoding.__struct_fields__
            if (value := getattr(self.args, name)) is not None
        }
        offered: dict[str, Any] = {"tools": list(self.tools)} if self.tools else {}
        if self.args.tool_choice is not None:
            offered["tool_choice"] = read_tool_choice(self.args.tool_choice, self.tools)
        return {**named, **offered, **self.extra, **(self.decoding or {})}

    def collect_identity_args(self) -> dict[str, str | int | float | bool]:
        """Return the arguments that change answers, as part of the model's identity."""
        changed: dict[str, str | int | float | bool] = {}
        if self.thinking is not None:
            changed["thinking"] = self.thinking.written
        if self.args.thinking_budget_name != BUDGET_FIELD:
            changed["thinking_budget_name"] = self.args.thinking_budget_name
        if self.args.thoughts != "apart":
            changed["thoughts"] = self.args.thoughts
        if self.args.api is not None:
            changed["api"] = self.args.api
        if self.args.n_per_call > 1:
            changed["n_per_call"] = self.args.n_per_call  # One seed applies to all texts of a call.
        if self.decoding is not None:
            changed["decoding"] = (
                "given"  # For fields that it does not contain, the server's default applies.
            )
        if self.args.max_tokens_name != "max_tokens":
            # A server ignores a length under a name that it does not know.
            changed["max_tokens_name"] = self.args.max_tokens_name
        if self.scoring:
            changed["scoring_fields"] = digest(self.scoring)
        if self.omitted:
            changed["omit"] = ",".join(sorted(self.omitted))
        for name, value in self.fields.items():
            if name == "tools":
                changed[name] = digest(value)  # Hashed, because tool descriptions are long.
                continue
            is_plain = isinstance(value, str | int | float | bool)
            changed[name] = value if is_plain else msgspec.json.encode(value, order="sorted").decode()
        return changed


def read_openai_settings(given: Mapping[str, str], backend: str = "openai") -> OpenAISettings:
    """Return the parsed arguments of a backend, or raise MODEL-002."""
    plain = {name: value for name, value in given.items() if not name.startswith(EXTRA)}
    args = read_arguments(backend, OpenAIArgs, plain)
    further = {name.removeprefix(EXTRA): given[name] for name in given.keys() - plain.keys()}
    extra = {name: _extra(name, further[name]) for name in sorted(further)}
    decoding = None if args.decoding is None else _read_fields("decoding", args.decoding, _DECODING)
    scoring = {}
    if args.scoring_fields is not None:
        scoring = _read_fields("scoring_fields", args.scoring_fields, _SCORING)
    if decoding is not None:
        known = {*_ELSEWHERE, *_TEXT_ONLY_FIELDS, *Decoding.__struct_fields__}
        extra |= {name: value for name, value in decoding.items() if name not in known}
    omitted = _parse_omitted(args.omit)
    if "stream" in omitted and args.stream is not False:
        what = "openai argument omit: without the field 'stream' the server does not stream"
        raise argument_error(what, "add stream=false")
    thinking = read_thinking_argument(args.thinking, backend)
    if args.api == "completions" and thinking is not None and thinking.is_on:
        raise thinking_error(
            f"{backend} argument api=completions: only chats can ask the model to think",
            "omit api=completions, or remove --thinking",
        )
    return OpenAISettings(args, extra, omitted, _read_offered_tools(args), decoding, thinking, scoring)


def read_key(args: OpenAIArgs, default: str = DEFAULT_KEY) -> str | None:
    """Return the key from the environment, or raise MODEL-009; `default` names its variable.

    Messages never repeat the value of `key_env`: it may be the key itself, given by mistake.
    """
    if args.key_env is not None and not _VARIABLE.fullmatch(args.key_env):
        raise rejected_key_error("key_env is not the name of an environment variable", default)
    key = os.environ.get(args.key_env or default, "").strip()
    if key and not _KEY.fullmatch(key):
        raise rejected_key_error(
            "the API key contains a character that is not allowed: a space, a line break or non-ASCII",
            default,
        )
    if args.key_env is not None and not key:
        raise rejected_key_error("the environment variable named by key_env is not set", default)
    return key or None


def _extra(name: str, value: str) -> Any:
    """Return a field's value: parsed if it is JSON, else the text itself."""
    if name in _ELSEWHERE:
        raise argument_error(f"openai argument {EXTRA}{name}: Assay sets {name!r} itself", _ELSEWHERE[name])
    if name in Decoding.__struct_fields__:
        what = f"openai argument {EXTRA}{name}: {name!r} is a separate argument"
        raise argument_error(what, f"write {name}={value}")
    if not name:
        raise argument_error(f"openai argument {EXTRA!r} names no field", f"write {EXTRA}ignore_eos=true")
    try:
        read = msgspec.json.decode(value)
    except msgspec.DecodeError:
        read = value
    if (secret := find_secret_name({name: read})) is not None:
        where = EXTRA + name if secret == name else f"{EXTRA}{name}: {secret!r}"
        raise argument_error(
            f"openai argument {where} looks like a secret, and every run stores its arguments",
            "put keys into environment variables: --model-arg key_env=NAME",
        )
    if (expected := describe_expected_value(name, read)) is not None:
        raise argument_error(f"openai argument {EXTRA}{name}={value!r:.60}", f"write {expected}")
    return read


def _read_fields(argument: str, text: str, known: Sequence[str]) -> dict[str, Any]:
    """Return the fields in a JSON argument, or raise MODEL-002 if they are invalid."""
    try:
        fields = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise argument_error(
            f"openai argument {argument} is not a JSON object: {error}",
            f"""write {argument}='{{"temperature": 0.7}}'""",
        ) from None
    for name in fields:
        if name in _ELSEWHERE and name not in known:
            what = f"openai argument {argument}: Assay sets {name!r} itself"
            raise argument_error(what, _ELSEWHERE[name])
        if (expected := describe_expected_value(name, fields[name])) is not None:
            raise argument_error(
                f"openai argument {argument}: {name}={fields[name]!r:.60}", f"write {expected}"
            )
    if (secret := find_secret_name(fields)) is not None:
        what = (
            f"openai argument {argument}: {secret!r} looks like a secret, and every run stores its arguments"
        )
        raise argument_error(what, "put keys into environment variables: --model-arg key_env=NAME")
    return fields


def _read_offered_tools(args: OpenAIArgs) -> Tools:
    """Return the tools, or raise MODEL-002 if they cannot be offered."""
    if args.tools is None:
        if args.tool_choice is not None:
            raise argument_error("openai argument tool_choice: no tools are offered", "write tools=FILE.json")
        return ()
    if args.api == "completions":
        raise argument_error("openai argument tools: only chat supports tools", "omit api=completions")
    tools = read_tools(args.tools)
    if args.tool_choice is not None:
        read_tool_choice(args.tool_choice, tools)
    return tools


def _parse_omitted(text: str) -> frozenset[str]:
    """Parse `temperature,seed`."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in OMITTABLE:
            raise argument_error(
                f"openai argument omit: {name!r} cannot be omitted{suggest_name(name, OMITTABLE)}",
                f"use some of: {listing(OMITTABLE)}",
            )
    return frozenset(names)
