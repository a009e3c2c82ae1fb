"""The settings of a run: one typed object that records the source of every value.

Flags override environment variables (`ASSAY_MODEL`), which override the profile, which overrides the file of
the project, which overrides the file in the home folder, which overrides the defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from assay.app.settings_files import (
    PROFILE_VARIABLE,
    SettingsLayer,
    build_layers,
    list_profile_layers,
    read_settings_files,
)
from assay.core.billing import ListedPrice, read_prices
from assay.core.budget import parse_budget
from assay.core.errors import (
    Problem,
    UsageError,
    explain_type_error,
    format_allowed_values,
    listing,
    suggest_name,
)
from assay.core.method import Method
from assay.core.request import WindowScheme
from assay.core.run import Setting
from assay.core.sampling_bounds import Length, Repeats, Temperature, TopP
from assay.core.secrets import HIDDEN, is_secret_name
from assay.core.sizes import read_size
from assay.core.thinking import read_thinking

_LISTS = ("method", "stop", "include_path", "benchmarks_from", "track")
"""Settings with several values, of which one may be written alone."""


_TABLES = ("model_args", "judge_args", "dataset_args", "table", "prices")
"""Settings that an environment variable cannot contain."""


class RunSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of a run."""

    model: str = "smollm2"
    model_args: dict[str, str] = {}
    label: str | None = None
    """The model's name in tables and on pages; not part of its identity."""
    prompt_label: str | None = None
    """The name of the prompt template."""
    concurrency: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Maximum concurrent requests to a server; None: auto."""
    budget: str | None = None
    """Limits such as `5usd,30min`, over all starts of the run; None: none."""
    prices: dict[str, ListedPrice] = {}
    """US dollars per million tokens by model name or pattern, from `[prices]` in assay.toml."""
    batch: bool = False
    """Whether all requests go through the provider's batch endpoint."""
    workers: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Processes, or actors on a cluster, that each load the model; None: this process loads it, or on a
    cluster as many as fit."""
    on: str | None = None
    """Where workers run: `ray`, `ray:ADDRESS`; None: on this machine."""
    worker_timeout: Annotated[float, msgspec.Meta(gt=0)] = 600.0
    """Seconds without an answer after which a busy worker is replaced."""
    method: tuple[Method, ...] | None = None
    shots: Annotated[int, msgspec.Meta(ge=0)] | None = None
    shots_from: str | None = None
    shot_policy: Literal["first", "random"] | None = None
    seed: int | None = None
    """Seed of all random draws; None: 0, or the original's default where an original is reproduced."""
    limit: str | None = None
    score_by: Literal["sum", "per_token", "per_char", "per_byte", "pmi"] | None = None
    fidelity: Literal["corrected", "faithful"] = "corrected"
    chat: Literal["auto", "on", "off"] = "auto"
    thinking: str | None = None
    """`on`, `off`, an effort, or the maximum tokens of a thought; None: as the model does by itself."""
    max_tokens: Length | None = None
    temperature: Temperature | None = None
    top_p: TopP | None = None
    stop: tuple[str, ...] | None = None
    windows: WindowScheme | None = None
    window_tokens: Annotated[int, msgspec.Meta(ge=2)] | None = None
    stride: Annotated[int, msgspec.Meta(ge=1)] | None = None
    samples: Repeats | None = None
    cot: str | None = None
    dialect: str | None = None
    include_path: tuple[str, ...] = ()
    """Further folders of lm-eval's task files, whose names replace those of earlier ones."""
    dataset_args: dict[str, str] = {}
    judge: str | None = None
    judge_args: dict[str, str] = {}
    out: str | None = None
    runs_dir: str = "runs"
    data_root: str | None = None
    benchmarks_from: tuple[str, ...] = ()
    """Folders with benchmarks that can be named, besides the installed packages: checkouts and task files."""
    split: str | None = None
    meta: str | None = None
    cache: bool = True
    retry_failed: bool = False
    keep_going: bool = False
    """Whether a run continues although the server rejected all of its first requests in the same way."""
    fresh: bool = False
    reuse: bool = False
    """Whether a finished run is reused although its server does not report which model it runs."""
    allow_failures: int | str = 0
    """Samples that may fail, as a number or percentage, before the exit status reports failure."""
    stage: Literal["all", "infer", "score"] = "all"
    """`infer`: query the model and store its answers. `score`: score stored answers, without the model."""
    answers_from: str | None = None
    """The run whose answers are scored; None: the latest of this model and these datasets.

    With `reuse`, if the model is queried too: the run to continue, whatever model answered there.
    """
    keep_media: Annotated[int, msgspec.Meta(ge=0)] = 256_000_000
    """Bytes of images, audio and video stored with the run; 0: none."""
    stream: bool = False
    """Whether rows of hub datasets are fetched each time they are read instead of stored on disk."""
    track: tuple[str, ...] = ()
    """Experiment trackers that the finished run is logged to: `mlflow`, `wandb:PROJECT`."""
    offline: bool = False
    """Whether only connections to the named endpoints are allowed."""
    table: dict[str, Any] = {}
    """Settings of a table given on the command line, with the keys of the meta file."""


class Settings:
    """Resolved settings with the source of each value."""

    def __init__(
        self,
        values: RunSettings,
        sources: Mapping[str, str],
        names: Mapping[str, str] | None = None,
        places: Mapping[str, str] | None = None,
        profile: str | None = None,
    ) -> None:
        self.values = values
        self._sources = sources
        self.names = names or {}
        """What the person wrote for each setting, for messages."""
        self.places = places or {}
        """The file of each setting that comes from one."""
        self.profile = profile

    def with_values(self, values: RunSettings) -> Settings:
        """Return other values with the sources of these."""
        return Settings(values, self._sources, self.names, self.places, self.profile)

    def to_manifest(self) -> dict[str, Setting]:
        """Return the values for the manifest, without secrets, as they will be read back from it."""
        plain = msgspec.json.decode(msgspec.json.encode(self.values))
        for given in ("model_args", "judge_args"):
            plain[given] = hide_secrets(plain[given])
        return {name: Setting(value, self._sources[name]) for name, value in plain.items()}


def hide_secrets(args: Mapping[str, str]) -> dict[str, str]:
    """Return arguments with secrets hidden, for storing and showing."""
    return {name: HIDDEN if is_secret_name(name) else value for name, value in args.items()}


def resolve_settings(
    flags: Mapping[str, Any],
    environment: Mapping[str, str],
    folder: Path,
    format_name: Callable[[str], str] = repr,
) -> Settings:
    """Combine the settings of all sources; a flag that was not given is None or absent.

    `format_name` returns how the caller's user wrote a flag, or a key of `table` as `table.KEY`.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    profile = given.pop("profile", None) or environment.get(PROFILE_VARIABLE) or None
    files = read_settings_files(environment, folder)
    for file in files:
        for layer in list_profile_layers(file):
            _check_names(layer)
    layers = [
        *build_layers(files, profile),
        SettingsLayer("env", "", _from_environment(environment)),
        SettingsLayer("flag", "", given),
    ]
    values: dict[str, Any] = {}
    sources = dict.fromkeys(RunSettings.__struct_fields__, "default")
    places: dict[str, str] = {}
    names: dict[str, str] = {}
    for layer in layers:
        _check_names(layer)
        for name, value in layer.values.items():
            values[name] = value
            sources[name] = layer.source
            places[name] = layer.place
            names[name] = _format_name(name, layer, format_name)
            if name == "table" and isinstance(value, Mapping):
                names |= {key: _format_name(f"table.{key}", layer, format_name) for key in value}
    for name, value in values.items():
        values[name] = _convert_value(name, value, " in ".join(filter(None, (sources[name], places[name]))))
    return Settings(RunSettings(**values), sources, names, places, profile)


def _format_name(name: str, layer: SettingsLayer, format_flag: Callable[[str], str]) -> str:
    """Return a setting as the person wrote it."""
    if layer.source == "flag":
        return format_flag(name)
    return f"ASSAY_{name.upper()}" if layer.source == "env" else layer.name(name)


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in RunSettings.__struct_fields__:
        value = environment.get(f"ASSAY_{name.upper()}")
        if value is not None and name not in _TABLES:
            values[name] = tuple(value.split(",")) if name in _LISTS else value
    # ASSAY_CACHE is the cache folder, not the switch.
    values.pop("cache", None)
    return values


def _check_names(layer: SettingsLayer) -> None:
    known = RunSettings.__struct_fields__
    for name in layer.values:
        if name not in known:
            written = layer.name(name) if layer.place else repr(name)
            raise UsageError(
                Problem(
                    "USAGE-001",
                    f"unknown setting {written}{suggest_name(name, known)}",
                    f"use one of {listing(known, at_most=40)}",
                )
            )


_KINDS = {field.name: field.type for field in msgspec.structs.fields(RunSettings)}


def _convert_value(name: str, value: Any, source: str) -> Any:
    if name in _LISTS and isinstance(value, str):
        value = (value,)
    if name == "method" and value is not None:
        value = tuple(part.strip() for entry in value for part in entry.split(","))
        _check_methods(value, source)
    if name == "track":
        value = tuple(part.strip() for entry in value for part in entry.split(","))
    if name == "thinking" and value is not None:
        # TOML has numbers and booleans of its own.
        value = {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
    if name == "limit" and type(value) is int:
        value = str(value)
    try:
        if name == "thinking" and value is not None:
            value = read_thinking(value).written
        if name == "budget" and value is not None:
            parse_budget(str(value))
            value = str(value)
        if name == "prices":
            value = read_prices(value)
        if name == "keep_media" and isinstance(value, str):
            value = read_size(value)
        return msgspec.convert(value, _KINDS[name], strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        # Every setting may be omitted, so the null in msgspec's message says nothing.
        allowed = "" if name == "prices" else format_allowed_values(_KINDS[name])
        reason = explain_type_error(error).replace(" or null", "") + allowed
        raise UsageError(
            Problem(
                "USAGE-001",
                f"setting {name!r} (from the {source}) is {value!r}: {reason}",
                "correct the value",
            )
        ) from error


def _check_methods(names: tuple[str, ...], source: str) -> None:
    for name in names:
        if name not in tuple(Method):
            hint = suggest_name(name, Method)
            what = f"setting 'method' (from the {source}) names the unknown method {name!r}{hint}"
            raise UsageError(Problem("USAGE-001", what, f"use one of {listing(Method)}"))
