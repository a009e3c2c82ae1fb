"""Sampling parameters: the user's settings, then the config's parameters, then the command line's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import AuthorError, Problem, Problems, explain_type_error, listing
from assay.core.origin import Origin
from assay.core.request import Sampling
from assay.core.sampling_bounds import describe_expected_value
from assay.core.task import TaskSettings
from assay.dialects.ultraeval.arguments import TransformArguments
from assay.dialects.ultraeval.collect import Recipe, find_config_file
from assay.sources.json_keys import require_unique_keys

SHIPPED_PARAMETERS: dict[str, dict[str, Any]] = {
    "vllm_sample": {"temperature": 0.3, "top_p": 0.8, "max_tokens": 300, "sampling_num": 1},
    "vllm_sample_v1": {"temperature": 0.1, "top_p": 0.95, "max_tokens": 300, "sampling_num": 1},
    "vllm_sample_bbh": {
        "temperature": 0.3,
        "top_p": 0.8,
        "max_tokens": 1024,
        "sampling_num": 1,
        "presence_penalty": 0.0,
    },
    "vllm_logprobs": {"prompt_logprobs": 0, "max_tokens": 1},
    "vllm_beamsearch": {
        "use_beam_search": True,
        "best_of": 10,
        "temperature": 0,
        "top_p": 1,
        "top_k": -1,
        "early_stopping": "never",
        "sampling_num": 1,
    },
    **{
        name: {
            "temperature": 0.0,
            "stop": None,
            "max_tokens": max_tokens,
            "request_id": None,
            "top_p": 1,
            "presence_penalty": 0,
            "frequency_penalty": 0,
            "sampling_num": 1,
        }
        for name, max_tokens in (("gpt-3.5-turbo", 4097), ("gpt-4", 1600))
    },
}
"""The parameters that the original ships, by file name. Configs refer to them everywhere."""
ORIGINAL_DEFAULT = "vllm_sample"
_MAX_TOKENS = 256
_ORIGINAL_MAX_TOKENS, _ORIGINAL_TEMPERATURE = 16, 1.0
"""The defaults of the original's servers."""
_NEUTRAL = {
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "top_k": -1,
    "use_beam_search": False,
    "best_of": 1,
}
"""Values at which parameters have no effect."""
_READ = ("temperature", "top_p", "max_tokens", "stop", "sampling_num", "batch_size", "request_id")


class Parameters(msgspec.Struct, frozen=True, omit_defaults=True):
    """The parameters of a file that Assay reads."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: str | list[str] | None = None
    sampling_num: int | None = None
    batch_size: int | None = None
    further: dict[str, Any] = {}
    """Other parameters in the file, for a server that supports them."""


def build_sampling(
    recipe: Recipe, settings: TaskSettings, arguments: TransformArguments, notes: list[str]
) -> Sampling:
    """Return the sampling parameters of a task; adds notes about those that are not sent to the model."""
    is_faithful = settings.is_faithful
    given = _parse_parameters(*find_parameters(recipe, arguments, is_faithful=is_faithful))
    if not settings.takes_parameters and (unsent := _list_unsent(given)):
        notes.append(f"the parameters {listing(unsent)} are not sent: only `ultraeval:` servers support them")
    n = settings.samples or given.sampling_num or 1
    temperature = given.temperature if settings.temperature is None else settings.temperature
    if temperature is None and is_faithful:
        temperature = _ORIGINAL_TEMPERATURE
    if n > 1 and not temperature and not is_faithful:
        temperature = 1.0
        notes.append("several samples at temperature 0 would be identical, so temperature 1 is used")
    stop = (given.stop,) if isinstance(given.stop, str) else tuple(given.stop or ())
    top_p = given.top_p if settings.top_p is None else settings.top_p
    return Sampling(
        max_tokens=settings.max_tokens
        or given.max_tokens
        or (_ORIGINAL_MAX_TOKENS if is_faithful else _MAX_TOKENS),
        temperature=float(temperature or 0.0),
        top_p=1.0 if top_p is None else float(top_p),
        stop=stop if settings.stop is None else settings.stop,
        seed=settings.seed if temperature else None,
        n=n,
        server=_build_server_parameters(given, n) if settings.takes_parameters else msgspec.UNSET,
    )


def _build_server_parameters(given: Parameters, n: int) -> dict[str, Any] | msgspec.UnsetType:
    """Return the additional parameters for a server of the original."""
    sent = dict(given.further)
    if given.sampling_num is not None:
        sent["sampling_num"] = n
    if given.batch_size:
        sent["batch_size"] = given.batch_size
    return sent or msgspec.UNSET


def _list_unsent(given: Parameters) -> list[str]:
    """Return the effective parameters that other models do not get."""
    return [name for name, value in given.further.items() if _NEUTRAL.get(name, object()) != value]


def find_parameters(
    recipe: Recipe, arguments: TransformArguments, *, is_faithful: bool
) -> tuple[Mapping[str, Any], Origin]:
    """Return the parameters of a task as written, and where."""
    configured = "" if recipe.config is None else recipe.config.generate.params
    if isinstance(configured, Mapping):
        return configured, Origin(str(recipe.config_path))
    if configured:
        path = find_config_file(configured, recipe)
        if path is None and Path(configured).stem in SHIPPED_PARAMETERS:
            return SHIPPED_PARAMETERS[Path(configured).stem], Origin(configured)
        if path is None:
            what = f'"params" is {configured!r}, which does not exist'
            where = Origin(str(recipe.config_path))
            fix = f"put it there, or use one of {listing(SHIPPED_PARAMETERS)}"
            raise AuthorError(Problem("ULTRAEVAL-003", what, fix, where))
        return _read_file(path)
    if arguments.params is not None:
        if not Path(arguments.params).is_file() and Path(arguments.params).stem in SHIPPED_PARAMETERS:
            return SHIPPED_PARAMETERS[Path(arguments.params).stem], Origin(arguments.params)
        return _read_file(Path(arguments.params))
    return SHIPPED_PARAMETERS[ORIGINAL_DEFAULT] if is_faithful else {}, Origin("")


def _read_file(path: Path) -> tuple[Mapping[str, Any], Origin]:
    where = Origin(str(path))
    try:
        require_unique_keys(written := path.read_bytes(), where)
        content = msgspec.json.decode(written, type=dict[str, Any])
    except OSError:
        fix = f"check the path, or use one of {listing(SHIPPED_PARAMETERS)}"
        raise AuthorError(Problem("ULTRAEVAL-003", "no such parameter file", fix, where)) from None
    except (msgspec.DecodeError, RecursionError) as error:
        what = f"not a JSON object of parameters: {error}"
        raise AuthorError(Problem("ULTRAEVAL-002", what, 'write {"temperature": 0.3}', where)) from None
    return content, where


def _parse_parameters(content: Mapping[str, Any], where: Origin) -> Parameters:
    if content.get("prompt_logprobs") is not None:
        # These request the likelihoods of a text, and say nothing about generation.
        return Parameters()
    further = {name: value for name, value in content.items() if name not in _READ and value is not None}
    problems = Problems()
    for name, value in content.items():
        if (expected := describe_expected_value(name, value)) is not None:
            what = f"the parameter {name!r} is {value!r:.60}, expected {expected}"
            problems.add(Problem("ULTRAEVAL-002", what, "fix the value", where))
    problems.raise_if_any()
    try:
        read = msgspec.convert(
            {name: content[name] for name in content if name in _READ}, Parameters, strict=False
        )
    except msgspec.ValidationError as error:
        name = str(error).partition("`$.")[2].partition("`")[0].partition("[")[0]
        why = explain_type_error(error).partition(", at ")[0]
        what = f"the parameter {name!r} is {content[name]!r:.60}: {why}"
        raise AuthorError(Problem("ULTRAEVAL-002", what, "fix the value", where)) from None
    return msgspec.structs.replace(read, further=further)
