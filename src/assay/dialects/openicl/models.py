"""The models of a config: dicts that name a class of the original, converted to models of Assay.

A dict defines the location of the model, its sampling and its roles. Every key is used, reported as without
effect, or an error; the problems of all models of a config are raised together. No model is opened here. The
API key of a service is passed on separately, so that it is never stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import Problem, Problems, listing, suggest_name
from assay.core.origin import Origin
from assay.core.sampling_bounds import describe_expected_value
from assay.dialects.openicl.authored.code import get_short_name
from assay.dialects.openicl.model_keys import (
    ANSWER_CHANGING_KEYS,
    COMMON_KEYS,
    FAMILIES,
    IGNORED_KEYS,
    LENGTH_KEYS,
    OPENAI_COMPATIBLE_CLASSES,
    OPENAI_URL,
    REASONING_MODEL_NAMES,
    REJECTED_CLASSES,
    SAMPLING_KEYS,
    SERVER_DEFAULTS,
    SERVER_KEYS,
    STREAMING_CLASSES,
    TGI_CLASSES,
    TRITON_CLASSES,
    USED_KEYS,
    Family,
)
from assay.dialects.openicl.pacing import PACING_KEYS, Pacing, read_pacing

MODEL_CODE = "OPENICL-040"
_ADAPTERS = "lora_data_map_file"
_PROGRAM_KEYS = ("num_return_sequences", "max_tokens", _ADAPTERS)
"""Keys of generation_kwargs that configure AISBench itself."""
_DEFAULT_LENGTH = 4096
"""The maximum tokens that AISBench requests if neither model nor dataset sets a length."""
_DEFAULT_TEMPERATURE = 0.7
"""The default temperature of OpenCompass's classes, except `OpenAISDK`."""


class ModelSampling(NamedTuple):
    """The sampling settings; None: taken from the dataset's config."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    samples: int | None = None
    stop: tuple[str, ...] = ()


class ModelConfig(msgspec.Struct, frozen=True):
    """A model of a config, in the form that Assay opens."""

    abbr: str
    """The name for its results."""
    model: str
    """Assay's name for it: `openai:NAME@URL`, `hf:PATH`."""
    model_args: dict[str, str]
    is_chat: bool | None
    """Whether to send chat messages; None: decided by the model."""
    drawing: ModelSampling
    max_tokens: int | None = None
    """The maximum output length, if a dataset sets none."""
    meta_template: Any = None
    postprocessor: str | None = None
    """The post-processor for its outputs, applied before the dataset's own."""
    is_service: bool = False
    """Whether its class calls OpenAI's service or a compatible one, as OpenCompass does."""
    column: str = ""
    """The name of its column in a summary."""
    notes: tuple[str, ...] = ()
    """Notes on settings without effect."""
    secret: str | None = None
    """The API key of a service, in memory only; never written anywhere."""
    pacing: Pacing | None = None
    """The request schedule, if its speed is measured."""
    tokenizer: str | None = None
    """Folder of its tokenizer, if its speed is measured and the config names one."""
    faithful_args: dict[str, str] = {}
    """Additional arguments of a faithful run."""
    faithful_temperature: float | None = None
    """The temperature of a faithful run, if it differs; 1 if the server chooses it."""

    def __repr__(self) -> str:
        return f"ModelConfig({self.abbr!r}, {self.model!r})"


def read_models(
    entries: Sequence[Mapping[str, Any]], source: str, *, is_timed: bool = False
) -> list[ModelConfig]:
    """Return the models of a config, or raise all their problems.

    `is_timed`: whether their speed is measured, so that the request schedule counts.
    """
    problems = Problems()
    models: list[ModelConfig] = []
    taken: dict[str, Mapping[str, Any]] = {}
    for index, entry in enumerate(entries):
        where = Origin(f"{source} models[{index}]")
        found = _ModelReader(entry, where, problems, is_timed=is_timed).model()
        if found is None:
            continue
        if found.abbr in taken:
            if taken[found.abbr] != entry:
                what = f"the abbr {found.abbr!r} is already used by another model, and it names the results"
                problems.add(Problem(MODEL_CODE, what, "give each model a unique abbr", where))
            continue
        taken[found.abbr] = entry
        models.append(found)
    problems.raise_if_any()
    return models


def find_family(entry: Mapping[str, Any]) -> Family | None:
    """Return the kind of model of an entry; None if its class is not supported."""
    return FAMILIES.get(get_short_name(entry.get("type", "")), (None, None))[0]


class _ModelReader:
    """Reads one model."""

    def __init__(
        self, entry: Mapping[str, Any], where: Origin, problems: Problems, *, is_timed: bool
    ) -> None:
        self._entry = entry
        self._where = where
        self._problems = problems
        self._is_timed = is_timed
        self._notes: list[str] = []
        self._args: dict[str, str] = {}
        self._faithful_args: dict[str, str] = {}
        self._faithful_temperature: float | None = None

    def model(self) -> ModelConfig | None:
        before = self._problems.total
        kind = self._kind()
        if kind is None:
            return None
        family, is_chat = FAMILIES[kind]
        self._check_keys(kind, family)
        named, secret = _ADDRESS_READERS[family](self)
        drawing = self._read_sampling(family)
        self._set_concurrency(family, kind)
        pacing = self._read_pacing(family, kind) if self._is_timed else None
        entry = self._entry
        post = self._postprocessor()
        meta = entry.get("meta_template") or None
        if not isinstance(meta, Mapping | list | tuple | None):
            self._wrong("meta_template", meta, "a dict")
        abbr = self._abbr(named)
        column = self._text("summarizer_abbr") or abbr
        max_tokens = self._number("max_out_len", least=1)
        max_tokens = max_tokens or self._number("max_completion_tokens", least=1)
        if self._problems.total > before:
            return None
        return ModelConfig(
            abbr,
            named,
            self._args,
            is_chat,
            drawing,
            None if max_tokens is None else int(max_tokens),
            meta,
            post,
            family == "openai_service",
            column,
            tuple(self._notes),
            secret,
            pacing,
            self._tokenizer(family) if self._is_timed else None,
            self._faithful_args,
            self._faithful_temperature,
        )

    # --- the kind of model ---

    def _kind(self) -> str | None:
        if "type" not in self._entry:
            self._problem(
                f"the model has no 'type'{self._suggest_key('type')}", f"use one of {listing(FAMILIES)}"
            )
            return None
        kind = get_short_name(self._entry["type"])
        if kind in FAMILIES:
            return kind
        if kind in REJECTED_CLASSES:
            self._problem(f"the model class {kind} is not supported", REJECTED_CLASSES[kind])
        else:
            what = f"there is no model class {kind!r}{suggest_name(kind, FAMILIES)}"
            self._problem(what, f"use one of {listing(FAMILIES, at_most=20)}")
        return None

    def _suggest_key(self, key: str) -> str:
        return suggest_name(key, [one for one in self._entry if one not in COMMON_KEYS])

    def _check_keys(self, kind: str, family: Family) -> None:
        used = (*USED_KEYS[family], "model_name") if kind in TRITON_CLASSES else USED_KEYS[family]
        known = (*COMMON_KEYS, *used, *IGNORED_KEYS, *ANSWER_CHANGING_KEYS)
        for key, value in self._entry.items():
            if key in ANSWER_CHANGING_KEYS and value:
                what = f"{key} is {value!r:.60}, which is not supported and would change the answers"
                self._problem(what, "remove it, or name a model that has it built in")
            elif key not in known:
                of_others = any(key in others for others in USED_KEYS.values())
                what = (
                    f"{key!r} does not apply to {kind}"
                    if of_others
                    else f"{kind} has the unknown key {key!r}{suggest_name(key, known)}"
                )
                self._problem(what, f"supported: {listing(used, at_most=30)}")
        counted = (*used, *PACING_KEYS, "tokenizer_path") if self._is_timed else used
        quiet = [
            key
            for key in self._entry
            if key in IGNORED_KEYS and key not in counted and self._entry[key] not in (None, False, "", {}, 0)
        ]
        if quiet:
            self._notes.append(f"{', '.join(quiet)}: no effect")

    def _abbr(self, named: str) -> str:
        given = self._entry.get("abbr")
        if given is None:
            return named.partition("@")[0].rstrip("/").rpartition("/")[2].replace(":", "-") or "model"
        if not isinstance(given, str) or not given:
            self._wrong("abbr", given, "a name")
            return ""
        return given

    # --- the location ---

    def vllm_service(self) -> tuple[str, str | None]:
        """Return the model at an address in AISBench's form, and its API key."""
        kind = get_short_name(self._entry["type"])
        name, key = self._text("model"), self._text("api_key") or None
        if kind in TGI_CLASSES:
            return f"tgi:{name}@{_strip_endpoint(self._base())}", key
        if kind in TRITON_CLASSES:
            name = name or self._text("model_name")
            if not name:
                what = "there is no 'model_name', which is part of the address of a Triton model"
                self._problem(what, "write model_name='NAME', or --model-name NAME")
            # The original's name for the parameter; models use different names.
            self._args["max_tokens_name"] = "max_new_tokens"
            return f"triton:{name}@{_strip_endpoint(self._base())}", key
        if kind in OPENAI_COMPATIBLE_CLASSES:
            self._notes.append(
                f"{kind}: the original calls {OPENAI_COMPATIBLE_CLASSES[kind]}; Assay calls the "
                "OpenAI-compatible address of the same server, /v1"
            )
        return f"openai:{name}@{self._address()}", key

    def _address(self) -> str:
        # The originals append `v1/chat/completions`; an address that already ends with it is kept.
        url = _strip_endpoint(self._base())
        return url if url.endswith("/v1") else f"{url}/v1"

    def _base(self) -> str:
        scheme = "https" if self._entry.get("enable_ssl") else "http"
        url = self._text("url").strip()
        if not url:
            host = self._text("host_ip") or "localhost"
            port = self._number("host_port", least=1)
            host = f"[{host}]" if ":" in host and not host.startswith("[") else host
            url = f"{scheme}://{host}:{8080 if port is None else int(port)}"
        elif "://" not in url:
            url = f"{scheme}://{url}"
        return url

    def openai_service(self) -> tuple[str, str | None]:
        """Return the model at an address in OpenCompass's form, and its API key."""
        name = self._text("path")
        base = self._entry.get("openai_api_base") or OPENAI_URL
        if isinstance(base, list | tuple) and base:
            if len(base) > 1:
                self._notes.append(f"openai_api_base: only the first of {len(base)} addresses is used")
            base = base[0]
        if not isinstance(base, str):
            self._wrong("openai_api_base", base, "an address")
            base = OPENAI_URL
        key = self._entry.get("key", "ENV")
        if isinstance(key, list | tuple) and key:
            self._notes.append(f"key: only the first of {len(key)} is used")
            key = key[0]
        if not isinstance(key, str):
            self._problem("key is not a text", "write key='ENV', and set OPENAI_API_KEY")
            key = "ENV"
        if (timeout := self._number("timeout", least=0)) is not None:
            self._args["timeout_s"] = f"{timeout:g}"
        return f"openai:{name}@{_strip_endpoint(base)}", None if key in ("ENV", "") else key

    def local(self) -> tuple[str, None]:
        """Return the folder or hub name of the weights."""
        path = self._text("path")
        if not path:
            self._problem("there is no 'path' to the weights", "write path='FOLDER' or path='ORG/NAME'")
        more = self._entry.get("model_kwargs") or {}
        if not isinstance(more, Mapping):
            self._wrong("model_kwargs", more, "a dict")
            more = {}
        if self._entry.get("trust_remote_code") or more.get("trust_remote_code"):
            self._args["trust_remote_code"] = "true"
        dtype = get_short_name(more.get("torch_dtype") or more.get("dtype") or "auto")
        if dtype in ("float32", "float16", "bfloat16"):
            self._args["dtype"] = dtype
        if attention := more.get("attn_implementation"):
            self._args["attn"] = str(attention)
        known = ("trust_remote_code", "torch_dtype", "dtype", "attn_implementation", "device_map")
        if others := [key for key in more if key not in known]:
            self._notes.append(f"model_kwargs: {', '.join(others)}: no effect")
        if (length := self._number("max_seq_len", least=2)) is not None:
            self._args["context_length"] = str(int(length))
        return f"hf:{path}", None

    def read_assay_name(self) -> tuple[str, None]:
        """Return a model by Assay's own name."""
        name = self._text("model")
        if not name:
            self._problem("there is no 'model'", "write model='smollm2', or another name for --model")
        more = self._entry.get("model_args") or {}
        if not isinstance(more, Mapping):
            self._wrong("model_args", more, "a dict")
            more = {}
        self._args |= {str(key): _argument(value) for key, value in more.items()}
        return name, None

    # --- sampling ---

    def _read_sampling(self, family: Family) -> ModelSampling:
        given = self._entry.get("generation_kwargs") or {}
        if not isinstance(given, Mapping):
            self._wrong("generation_kwargs", given, "a dict")
            given = {}
        given = {**given}
        if "temperature" in self._entry:
            given.setdefault("temperature", self._entry["temperature"])
        if family == "vllm_service":
            self._read_decoding(given)
        elif family == "openai_service":
            given |= self._collect_extra_fields()
            self._decoding_of_service(given)
            self._set_extra_fields(given)
        else:
            self._note_ignored_kwargs(given, family)
        of = "generation_kwargs."
        temperature = self._number("temperature", given, of=of)
        if family == "vllm_service" and temperature is None:
            # No temperature is sent, so the server may sample: each repeat is its own request.
            temperature = 1.0
        if family == "hf":
            # transformers samples only if do_sample is set; otherwise it ignores the temperature.
            temperature = (1.0 if temperature is None else temperature) if given.get("do_sample") else 0.0
        stops = [given.get("stop"), self._entry.get("stop_words"), self._entry.get("end_str")]
        stop = tuple(text for one in stops if one for text in ((one,) if isinstance(one, str) else one))
        if not all(isinstance(one, str) for one in stop):
            self._wrong("stop words", stop, "texts")
        samples = self._number("num_return_sequences", given, least=1, of=of)
        if family == "vllm_service" and samples and samples > 1 and not temperature:
            self._faithful_temperature = (
                1.0  # At 0, equal requests would be sent only once; the original sends them all.
            )
        seed = self._number("seed", given, of=of)
        return ModelSampling(
            temperature,
            self._number("top_p", given, of=of),
            None if seed is None else int(seed),
            None if samples is None else int(samples),
            stop,
        )

    def _read_decoding(self, given: Mapping[str, Any]) -> None:
        """Send exactly what AISBench's config sets; the server's defaults decide the rest."""
        if given.get(_ADAPTERS) is not None:
            what = f"{_ADAPTERS} is set: per-row adapters are not supported"
            self._problem(what, "name the adapter as the model, one run per adapter")
        try:
            whole = json.dumps({key: value for key, value in given.items() if key != "max_tokens"})
            sent = json.dumps({key: value for key, value in given.items() if key not in _PROGRAM_KEYS})
        except TypeError as error:
            self._problem(f"generation_kwargs cannot be sent: {error}", "use plain values")
            return
        self._args["decoding"] = sent
        # The original also sends num_return_sequences, and retries only lost connections.
        self._faithful_args = {"decoding": whole, "retry_statuses": "false"}
        if get_short_name(self._entry["type"]) not in (*TGI_CLASSES, *TRITON_CLASSES):
            # The original requests likelihoods with the same length as generated texts.
            length = self._entry.get("max_out_len")
            length = length if isinstance(length, int) and length > 0 else _DEFAULT_LENGTH
            scored = {**json.loads(whole), "max_tokens": length, "stream": False}
            self._faithful_args["scoring_fields"] = json.dumps(scored)

    def _collect_extra_fields(self) -> dict[str, Any]:
        """Return the additional request fields of an OpenCompass config."""
        found: dict[str, dict[str, Any]] = {}
        for name in ("openai_extra_kwargs", "extra_body"):
            more = self._entry.get(name) or {}
            if not isinstance(more, Mapping):
                self._wrong(name, more, "a dict")
                more = {}
            found[name] = dict(more)
        arguments, body = found.values()
        inner = arguments.pop("extra_body", None)
        added = {**arguments, **(inner if isinstance(inner, Mapping) else body)}
        for key in LENGTH_KEYS:
            if key in added:
                what = (
                    f"{key} in extra_body or openai_extra_kwargs replaces the length that each dataset sets"
                )
                self._problem(what, f"remove it, and write max_out_len={added[key]!r:.20}")
        return added

    def _decoding_of_service(self, given: Mapping[str, Any]) -> None:
        """Set the request fields of a faithful run: those of the original; null: the server's default."""
        kind, name = get_short_name(self._entry["type"]), self._text("path")
        added = {key: value for key, value in given.items() if key not in _PROGRAM_KEYS}
        temperature = added.pop("temperature", None)
        if temperature is None and kind != "OpenAISDK":
            temperature = _DEFAULT_TEMPERATURE
        is_reasoning = any(part in name for part in REASONING_MODEL_NAMES)
        fields: dict[str, Any] = {"n": 1}
        if kind == "OpenAI":
            asked = {key: self._entry.get(key) for key in ("logprobs", "top_logprobs")}
            fields |= {"stop": None, **asked, "logprobs": asked["logprobs"] or False}
        if kind == "OpenAI" or not is_reasoning:
            fields["temperature"] = temperature
        else:
            temperature = None
        try:
            decoding = json.dumps({**fields, **added})
        except TypeError as error:
            self._problem(f"extra_body cannot be sent: {error}", "use plain values")
            return
        is_stream = kind in STREAMING_CLASSES
        self._faithful_args = {
            "decoding": decoding,
            "stream": "true" if is_stream else "false",
            "omit": "stream_options" if is_stream else "stream",
        }
        if is_reasoning:
            self._faithful_args["max_tokens_name"] = "max_completion_tokens"
        self._faithful_temperature = temperature if isinstance(temperature, int | float) else 1.0

    def _set_extra_fields(self, given: Mapping[str, Any]) -> None:
        """Pass on server-specific settings as request fields."""
        for key, value in given.items():
            if (
                key in SAMPLING_KEYS
                or value is None
                or (key in SERVER_DEFAULTS and value == SERVER_DEFAULTS[key])
            ):
                continue
            if key == "lora_data_map_file":
                what = "lora_data_map_file is set: per-row adapters are not supported"
                self._problem(what, "name the adapter as the model, one run per adapter")
            elif key in SERVER_KEYS:
                self._args[key] = _argument(value)
            elif isinstance(value, Mapping) and key == "extra_body":
                self._set_extra_fields(value)
            else:
                try:
                    self._args[f"extra.{key}"] = json.dumps(value)
                except TypeError:
                    self._wrong(f"generation_kwargs.{key}", value, "a plain value")

    def _note_ignored_kwargs(self, given: Mapping[str, Any], family: Family) -> None:
        is_drawn = bool(given.get("do_sample")) or family == "assay"
        others = [key for key, value in given.items() if key not in SAMPLING_KEYS and value is not None]
        if others and (is_drawn or set(others) - {"top_k", "typical_p"}):
            self._notes.append(
                f"generation_kwargs: {', '.join(others)}: not supported, so texts may differ from the "
                "original's"
            )

    # --- requests ---

    def _set_concurrency(self, family: Family, kind: str) -> None:
        batch = self._number("batch_size", least=1)
        if batch is None:
            batch = self._number("max_workers", least=1)
        if family in ("vllm_service", "openai_service"):
            if batch is not None:
                self._args["concurrency"] = str(int(batch))
            if (retry := self._number("retry", least=0)) is not None:
                # The originals count attempts; Assay counts retries after the first attempt.
                self._args["retries"] = str(max(0, int(retry) - 1))
            is_stream = bool(self._entry.get("stream")) or kind in STREAMING_CLASSES
            if is_stream or family == "vllm_service":
                self._args["stream"] = "true" if is_stream else "false"
        elif family == "hf" and batch is not None:
            self._args["max_batch"] = str(int(batch))

    # --- request schedule ---

    def _read_pacing(self, family: Family, kind: str) -> Pacing:
        if family == "hf":
            what = f"{kind} runs inside this program, but only the speed of a server can be measured"
            self._problem(what, "serve the model, and name VLLMCustomAPIChat with its address")
        if family in ("vllm_service", "openai_service"):
            # A speed measurement streams by default; here the config decides.
            self._args["stream"] = (
                "true" if self._entry.get("stream") or kind in STREAMING_CLASSES else "false"
            )
        if (self._number("retry", least=0) or 0) > 1:
            self._notes.append("retry: no effect, because timed requests are sent only once")
        if (self._number("num_return_sequences", self._read_generation_kwargs(), least=1) or 1) > 1:
            what = "generation_kwargs.num_return_sequences requests several answers per request"
            self._problem(what, "remove it for speed measurements")
        entry = dict(self._entry)
        if family == "assay" and self._args.get("concurrency", "").isdecimal():
            entry["batch_size"] = int(self._args["concurrency"])
        return read_pacing(entry, self._problem)

    def _read_generation_kwargs(self) -> Mapping[str, Any]:
        given = self._entry.get("generation_kwargs")
        return given if isinstance(given, Mapping) else {}

    def _tokenizer(self, family: Family) -> str | None:
        return self._text("path" if family == "vllm_service" else "tokenizer_path") or None

    def _postprocessor(self) -> str | None:
        given = self._entry.get("pred_postprocessor")
        if not given:
            return None
        if isinstance(given, Mapping) and "type" not in given:
            patterns = listing(map(str, given), at_most=4)
            what = f"pred_postprocessor differs between the datasets {patterns}, which is not supported"
            self._problem(what, "write pred_postprocessor=dict(type=...), or set it in the datasets' configs")
            return None
        if not isinstance(given, Mapping):
            self._wrong("pred_postprocessor", given, "a dict with a 'type'")
            return None
        if others := [key for key in given if key != "type"]:
            what = f"pred_postprocessor has the arguments {listing(others)}, which are not supported"
            self._problem(what, "remove them, or set pred_postprocessor in the datasets' configs")
            return None
        return get_short_name(given["type"])

    # --- values ---

    def _text(self, key: str) -> str:
        value = self._entry.get(key)
        if value is None or isinstance(value, str):
            return value or ""
        self._wrong(key, value, "a text")
        return ""

    def _number(
        self, key: str, given: Mapping[str, Any] | None = None, *, least: float = 0, of: str = ""
    ) -> float | None:
        value = (self._entry if given is None else given).get(key)
        if value is None:
            return None
        expected = describe_expected_value(key, value)
        is_right = isinstance(value, int | float) and not isinstance(value, bool) and value >= least
        if not is_right or expected is not None:
            self._wrong(f"{of}{key}", value, expected or f"a number of at least {least:g}")
            return None
        return float(value) if isinstance(value, float) else int(value)

    def _wrong(self, key: str, value: Any, expected: str) -> None:
        # Never show a value that may be an API key.
        seen = "something else" if "key" in key else f"{value!r:.60}"
        self._problem(f"{key} is {seen}, expected {expected}", "correct the value")

    def _problem(self, what: str, fix: str) -> None:
        self._problems.add(Problem(MODEL_CODE, what, fix, self._where))


_ADDRESS_READERS: Mapping[Family, Callable[[_ModelReader], tuple[str, str | None]]] = {
    "vllm_service": _ModelReader.vllm_service,
    "openai_service": _ModelReader.openai_service,
    "hf": _ModelReader.local,
    "assay": _ModelReader.read_assay_name,
}


def _strip_endpoint(url: str) -> str:
    """Return an address without its endpoint."""
    url = url.rstrip("/")
    for ending in ("/chat/completions", "/completions", "/generate", "/generate_stream", "/infer"):
        url = url.removesuffix(ending)
    return url


def _argument(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
