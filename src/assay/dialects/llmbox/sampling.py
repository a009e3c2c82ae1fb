"""Sampling parameters: the class's `extra_model_args`, overridden by the user's settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.core.errors import listing
from assay.core.request import Sampling
from assay.core.task import TaskSettings
from assay.dialects.llmbox.authoring import Dataset, ModelView

_ORIGINAL_MAX_TOKENS = 1024
_OPTION_MAX_TOKENS = 256
"""A model that has not answered with a letter by then will not do so."""


def build_sampling(dataset: Dataset, settings: TaskSettings, notes: list[str]) -> Sampling:
    """Return the sampling parameters of a dataset; adds notes for the user."""
    given = dict(dataset.extra_model_args)
    is_choice = dataset.evaluation_type == "ranking"
    default = _OPTION_MAX_TOKENS if is_choice and not settings.is_faithful else _ORIGINAL_MAX_TOKENS
    max_tokens = given.pop("max_tokens", None) or given.pop("max_new_tokens", None) or default
    stop = _list_stops(given.pop("stop", None) or (), is_faithful=settings.is_faithful)
    temperature = given.pop("temperature", None)
    top_p = given.pop("top_p", None)
    given.pop("multi_turn", None)
    if given:
        notes.append(f"extra_model_args {listing(given)} are not sent to the model")
    if settings.temperature is not None:
        temperature = settings.temperature
    if (settings.samples or 1) > 1 and not temperature:
        temperature = 1.0
        notes.append("several samples at temperature 0 would be identical, so temperature 1 is used")
    temperature = float(temperature or 0.0)
    return Sampling(
        max_tokens=settings.max_tokens or int(max_tokens),
        temperature=temperature,
        top_p=float(settings.top_p if settings.top_p is not None else top_p or 1.0),
        stop=settings.stop if settings.stop is not None else stop,
        seed=settings.seed if temperature > 0 else None,
        n=settings.samples or 1,
    )


def _list_stops(stop: str | Iterable[str], *, is_faithful: bool) -> tuple[str, ...]:
    """Return the stop strings of a class; the original treats each character of a single text as one."""
    if isinstance(stop, str) and not is_faithful:
        return (stop,)
    return tuple(dict.fromkeys(stop))


def find_stop_tokens(stops: Sequence[str], model: ModelView, notes: list[str]) -> tuple[tuple[int, ...], ...]:
    """Return the token sequences at which the original ends a text; empty if not known.

    The original tokenizes each stop string after the text `text `, and keeps the tokens from the one that
    contains its first character. If that token also contains the preceding space, a single line break never
    matches.
    """
    if not stops:
        return ()
    sequences = [_tokenize_stop(stop, model) for stop in stops]
    if any(ids is None for ids in sequences):
        notes.append(
            "answers end where the text of a stop string appears: the original compares tokens, "
            "which this model does not report"
        )
        return ()
    return tuple(ids for ids in sequences if ids)


_BEFORE_STOP = "text "


def _tokenize_stop(stop: str, model: ModelView) -> tuple[int, ...] | None:
    whole = _BEFORE_STOP + stop
    pieces = [] if model.pieces is None else list(model.pieces(whole))
    # Ignore special tokens at the beginning of a text.
    while pieces and "".join(text for _, text in pieces) != whole:
        pieces.pop(0)
    end = 0
    for at, (_, text) in enumerate(pieces):
        end += len(text)
        if end > len(_BEFORE_STOP):
            return tuple(id_ for id_, _ in pieces[at:])
    return None
