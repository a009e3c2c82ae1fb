"""How answers are generated: what a class asks for in `extra_model_args`, under what a person asks for."""

from __future__ import annotations

from assay.core.errors import AuthorError, listing
from assay.core.request import Sampling
from assay.core.sampling_bounds import expected_of
from assay.core.task import TaskSettings
from assay.dialects.llmbox.authoring import Dataset
from assay.dialects.llmbox.calling import Author

_ORIGINAL_MAX_TOKENS = 1024
_OPTION_MAX_TOKENS = 256
"""A model that answers by a letter and has not done so by then is not going to."""


def sampling_of(dataset: Dataset, settings: TaskSettings, author: Author, notes: list[str]) -> Sampling:
    """Return how a dataset's answers are generated; adds what a person should hear to the notes."""
    given = dict(dataset.extra_model_args)
    for name, value in given.items():
        if (expected := expected_of(name, value)) is not None:
            what = f"extra_model_args: {name} is {value!r:.60}, expected {expected}"
            raise AuthorError(author.problem("LLMBOX-011", what, "correct the value in extra_model_args"))
    is_choice = dataset.evaluation_type == "ranking"
    default = _OPTION_MAX_TOKENS if is_choice and not settings.is_faithful else _ORIGINAL_MAX_TOKENS
    max_tokens = given.pop("max_tokens", None) or given.pop("max_new_tokens", None) or default
    stop = given.pop("stop", None) or ()
    temperature = given.pop("temperature", None)
    top_p = given.pop("top_p", None)
    given.pop("multi_turn", None)
    if given:
        notes.append(f"extra_model_args {listing(given)} are not sent to the model")
    if settings.temperature is not None:
        temperature = settings.temperature
    if (settings.samples or 1) > 1 and not temperature:
        temperature = 1.0
        notes.append("several samples at temperature 0 would be the same: temperature 1 is used")
    temperature = float(temperature or 0.0)
    return Sampling(
        max_tokens=settings.max_tokens or int(max_tokens),
        temperature=temperature,
        top_p=float(settings.top_p if settings.top_p is not None else top_p or 1.0),
        stop=settings.stop
        if settings.stop is not None
        else ((stop,) if isinstance(stop, str) else tuple(stop)),
        seed=settings.seed if temperature > 0 else None,
        n=settings.samples or 1,
    )
