"""The arguments of config datasets, given as `--dataset-arg NAME=VALUE`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from assay.core.errors import Problem, UsageError, listing, suggest_name
from assay.dialects.openicl.config.places import find_checkout
from assay.dialects.openicl.templates.meta import MetaTemplate, read_meta_template
from assay.dialects.openicl.templates.template_problems import TemplateFault

OPENICL_ROOT = "openicl_root"
META_TEMPLATE = "meta_template"
NO_META_TEMPLATE = "{}"
"""The value for a service whose config has no meta template."""
MODEL_POSTPROCESSOR = "pred_postprocessor"
EMBEDDER = "embedder"
MODEL_LENGTH = "max_out_len"
MODEL_STOPS = "stop_words"
UNSCORED = "unscored"
ARGUMENT_NAMES = (
    OPENICL_ROOT,
    META_TEMPLATE,
    MODEL_POSTPROCESSOR,
    EMBEDDER,
    MODEL_LENGTH,
    MODEL_STOPS,
    UNSCORED,
)
TABLE_ARGUMENT_NAMES = (OPENICL_ROOT, META_TEMPLATE, MODEL_POSTPROCESSOR, MODEL_LENGTH, MODEL_STOPS)
"""The arguments that also apply to tables: those from the model's config."""


class ConfigArguments(msgspec.Struct, frozen=True):
    """The values of the arguments."""

    root: Path | None = None
    """The folder of a checkout that contains its package."""
    meta_template: MetaTemplate | None = None
    """The role markers from the model's config in the original."""
    joins_turns: bool = False
    """Whether the model is a service without a meta template, to which OpenCompass sends a single text."""
    model_postprocessor: str | None = None
    """The post-processor for the model's outputs, applied before the dataset's own."""
    embedder: str | None = None
    """The folder of the encoder with which retrievers find similar examples."""
    max_out_len: int | None = None
    """The model's maximum output length, if the dataset's config sets none."""
    stop_words: tuple[str, ...] = ()
    """Stop texts of the model, in addition to those of the dataset's config."""
    is_unscored: bool = False
    """Whether answers are not scored, so that the scoring code is not needed."""


def parse_config_arguments(
    text: Mapping[str, str],
    config: Path,
    *,
    noun: str = "a config dataset",
    known: Sequence[str] = ARGUMENT_NAMES,
) -> ConfigArguments:
    """Parse the arguments of a config; raise UsageError for unknown or invalid ones.

    A config in a checkout uses that checkout, unless another one is given.
    """
    for name in text:
        if name not in known:
            what = f"{noun} has no argument {name!r}{suggest_name(name, known)}"
            raise UsageError(Problem("USAGE-007", what, f"supported: {listing(known)}"))
    return ConfigArguments(
        _folder(text.get(OPENICL_ROOT)) or find_checkout(config),
        _meta(text.get(META_TEMPLATE)),
        text.get(META_TEMPLATE) == NO_META_TEMPLATE,
        text.get(MODEL_POSTPROCESSOR),
        text.get(EMBEDDER),
        _length(text.get(MODEL_LENGTH)),
        _stops(text.get(MODEL_STOPS)),
        _switch(text.get(UNSCORED)),
    )


def _length(text: str | None) -> int | None:
    if text is None or (text.isdecimal() and int(text) > 0):
        return None if text is None else int(text)
    what = f"{MODEL_LENGTH}: found {text!r}, expected a number of tokens, at least 1"
    raise UsageError(Problem("USAGE-007", what, "correct the value"))


def _switch(text: str | None) -> bool:
    if text not in (None, "true", "false"):
        what = f"{UNSCORED}: found {text!r}, expected true or false"
        raise UsageError(Problem("USAGE-007", what, "correct the value"))
    return text == "true"


def _stops(text: str | None) -> tuple[str, ...]:
    try:
        return () if text is None else msgspec.json.decode(text, type=tuple[str, ...])
    except msgspec.DecodeError as error:
        what = f"{MODEL_STOPS} cannot be read: {error}"
        raise UsageError(Problem("USAGE-007", what, 'give a list of texts as JSON: ["\\n"]')) from error


def _folder(text: str | None) -> Path | None:
    if text is None:
        return None
    folder = Path(text)
    if not folder.is_dir():
        what = f"--openicl-root: there is no folder {text!r}"
        raise UsageError(Problem("USAGE-007", what, "name the folder that contains the package"))
    return folder


def _meta(text: str | None) -> MetaTemplate | None:
    if text is None:
        return None
    text = text if text.lstrip().startswith(("{", "[")) else _content(text)
    try:
        said_here = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        what = f"{META_TEMPLATE} cannot be read: {error}"
        raise UsageError(Problem("USAGE-007", what, "give JSON, or the path of a JSON file")) from error
    faults: list[TemplateFault] = []
    found = read_meta_template(said_here, faults)
    if faults:
        raise UsageError([Problem("USAGE-007", what, fix) for what, fix in faults])
    return found


def _content(text: str) -> str:
    try:
        return Path(text).read_text(encoding="utf-8")
    except OSError as error:
        what = f"{META_TEMPLATE}: {text!r} is neither JSON nor a readable file: {error.strerror}"
        raise UsageError(Problem("USAGE-007", what, "give JSON, or the path of a JSON file")) from error
