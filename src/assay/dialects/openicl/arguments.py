"""What a person may say of config datasets alone, as `--dataset-arg NAME=VALUE`."""

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
"""Says that the config of a service has none."""
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
"""Those that mean something to a table: what the config of the model says."""


class ConfigArguments(msgspec.Struct, frozen=True):
    """What was said."""

    root: Path | None = None
    """The folder that a checkout's package lies in."""
    meta_template: MetaTemplate | None = None
    """How the model wants roles to be marked, as its config in the original says."""
    joins_turns: bool = False
    """Whether the model is a service without a meta template, to which OpenCompass sends one text."""
    model_postprocessor: str | None = None
    """What the model's texts go through before the dataset's own post-processor."""
    embedder: str | None = None
    """The folder of the encoder by which retrievers find examples that are near."""
    max_out_len: int | None = None
    """The model's greatest length of a text, where the dataset's config names none."""
    stop_words: tuple[str, ...] = ()
    """Texts that end an answer of the model, beside those of the dataset's config."""
    is_unscored: bool = False
    """Whether answers are not scored, so that nothing of how they would be needs to be there."""


def parse_config_arguments(
    said: Mapping[str, str],
    config: Path,
    *,
    noun: str = "a config dataset",
    known: Sequence[str] = ARGUMENT_NAMES,
) -> ConfigArguments:
    """Read what is said of a config; UsageError for what is not known or cannot be read.

    A config that lies in a checkout has that checkout unless another is named.
    """
    for name in said:
        if name not in known:
            what = f"{noun} has no argument {name!r}{suggest_name(name, known)}"
            raise UsageError(Problem("USAGE-007", what, f"use some of {listing(known)}"))
    return ConfigArguments(
        _folder(said.get(OPENICL_ROOT)) or find_checkout(config),
        _meta(said.get(META_TEMPLATE)),
        said.get(META_TEMPLATE) == NO_META_TEMPLATE,
        said.get(MODEL_POSTPROCESSOR),
        said.get(EMBEDDER),
        _length(said.get(MODEL_LENGTH)),
        _stops(said.get(MODEL_STOPS)),
        _switch(said.get(UNSCORED)),
    )


def _length(said: str | None) -> int | None:
    if said is None or (said.isdecimal() and int(said) > 0):
        return None if said is None else int(said)
    what = f"{MODEL_LENGTH}: found {said!r}, expected a number of tokens from 1 on"
    raise UsageError(Problem("USAGE-007", what, "correct the value"))


def _switch(said: str | None) -> bool:
    if said not in (None, "true", "false"):
        what = f"{UNSCORED}: found {said!r}, expected true or false"
        raise UsageError(Problem("USAGE-007", what, "correct the value"))
    return said == "true"


def _stops(said: str | None) -> tuple[str, ...]:
    try:
        return () if said is None else msgspec.json.decode(said, type=tuple[str, ...])
    except msgspec.DecodeError as error:
        what = f"{MODEL_STOPS} cannot be read: {error}"
        raise UsageError(Problem("USAGE-007", what, 'give a list of texts as JSON: ["\\n"]')) from error


def _folder(said: str | None) -> Path | None:
    if said is None:
        return None
    folder = Path(said)
    if not folder.is_dir():
        what = f"--openicl-root: there is no folder {said!r}"
        raise UsageError(Problem("USAGE-007", what, "name the folder that the package lies in"))
    return folder


def _meta(said: str | None) -> MetaTemplate | None:
    if said is None:
        return None
    text = said if said.lstrip().startswith(("{", "[")) else _content(said)
    try:
        said_here = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        what = f"{META_TEMPLATE} cannot be read: {error}"
        raise UsageError(Problem("USAGE-007", what, "give it as JSON, or a file that holds it")) from error
    faults: list[TemplateFault] = []
    found = read_meta_template(said_here, faults)
    if faults:
        raise UsageError([Problem("USAGE-007", what, fix) for what, fix in faults])
    return found


def _content(said: str) -> str:
    try:
        return Path(said).read_text(encoding="utf-8")
    except OSError as error:
        what = f"{META_TEMPLATE}: {said!r} is no JSON and no file: {error.strerror}"
        raise UsageError(Problem("USAGE-007", what, "give it as JSON, or a file that holds it")) from error
