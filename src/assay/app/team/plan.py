"""The plan of an evaluation: the datasets, the model and every setting with its source.

A plan is made when an evaluation is submitted and never changes: what was checked is what runs, whatever is
registered later under the same names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from assay.app.settings import RunSettings, Settings
from assay.core.errors import Problem, UsageError, listing
from assay.core.method import Method
from assay.core.sampling_bounds import Length, Repeats, Temperature, TopP
from assay.core.secrets import is_secret_name
from assay.core.team import RegisteredDataset, RegisteredModel


class EvaluationSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The settings of `assay run` that a request may choose: none of them is a path."""

    method: tuple[Method, ...] | None = None
    """How to query the model; several methods are compared. None: the dataset's own."""
    shots: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Solved examples before each question."""
    shot_policy: Literal["first", "random"] | None = None
    """How examples are chosen."""
    seed: int | None = None
    """Seed of all random draws."""
    limit: str | int | None = None
    """A part of the dataset: `100`, `first:100` or `last:100` samples."""
    score_by: Literal["sum", "per_token", "per_char", "per_byte", "pmi"] | None = None
    """How option likelihoods are compared."""
    fidelity: Literal["corrected", "faithful"] | None = None
    """`faithful` reproduces the original system exactly."""
    chat: Literal["auto", "on", "off"] | None = None
    """Whether prompts use the chat template."""
    max_tokens: Length | None = None
    """Maximum length of an answer."""
    temperature: Temperature | None = None
    top_p: TopP | None = None
    stop: tuple[str, ...] | None = None
    """Texts at which an answer ends."""
    samples: Repeats | None = None
    """Answers per question."""
    cot: str | None = None
    """The kind of chain of thought that dataset classes request."""
    retry_failed: bool | None = None
    """Whether to retry requests that failed in an earlier attempt."""
    keep_going: bool | None = None
    """Whether to continue although the server rejects all of the first requests in the same way."""


class EvaluationPlan(msgspec.Struct, frozen=True):
    """All that a worker needs, except the run folder."""

    datasets: tuple[str, ...]
    """The dataset names for `assay run`."""
    values: RunSettings
    sources: dict[str, str]
    """The source of each value."""

    def to_public_dict(self) -> dict[str, Any]:
        """Return the values set by the request and the datasets."""
        names = [name for name, source in self.sources.items() if source in ("dataset", "request")]
        return {
            name: msgspec.to_builtins(getattr(self.values, name)) for name in names if name != "judge_args"
        }

    def settings(self, out: str) -> Settings:
        """Return the settings of the run in folder `out`."""
        values = msgspec.structs.replace(self.values, out=out)
        return Settings(values, {**self.sources, "out": "server"})


def make_plan(
    model: RegisteredModel,
    datasets: Sequence[RegisteredDataset],
    request: EvaluationSettings,
    *,
    judge: RegisteredModel | None,
    of_server: Mapping[str, Any],
) -> EvaluationPlan:
    """Return the plan. The request overrides the datasets' settings, and these override the server's."""
    requested = {name: value for name, value in msgspec.structs.asdict(request).items() if value is not None}
    if "limit" in requested:
        requested["limit"] = str(requested["limit"])
    layers: list[tuple[str, Mapping[str, Any]]] = [
        ("server", of_server),
        ("dataset", _merge_dataset_settings(datasets, requested)),
        ("request", requested),
        ("model", build_model_settings(model)),
    ]
    if judge is not None:
        layers.append(("request", {"judge": judge.spec, "judge_args": judge.args}))
    values: dict[str, Any] = {}
    sources = dict.fromkeys(RunSettings.__struct_fields__, "default")
    for source, layer in layers:
        values |= layer
        sources |= dict.fromkeys(layer, source)
    settings = msgspec.convert(values, RunSettings)
    return EvaluationPlan(tuple(dataset.place for dataset in datasets), settings, sources)


def build_model_settings(model: RegisteredModel) -> dict[str, Any]:
    """Return the settings of a run that a registered model defines."""
    placement = {"workers": model.workers, "on": model.on}
    given = {name: value for name, value in placement.items() if value is not None}
    return {"model": model.spec, "model_args": model.args, **given}


def _merge_dataset_settings(
    datasets: Sequence[RegisteredDataset], requested: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the datasets' own settings; raise if they differ and the request does not decide."""
    merged: dict[str, Any] = {}
    for name in dict.fromkeys(name for dataset in datasets for name in dataset.settings):
        values = [dataset.settings.get(name) for dataset in datasets]
        if name not in requested and any(value != values[0] for value in values):
            what = f"the datasets {listing(one.name for one in datasets)} have different values for {name!r}"
            fix = f"evaluate them separately, or set {name!r} in the request"
            raise UsageError(Problem("TEAM-061", what, fix))
        merged[name] = values[0]
    return merged


def require_no_secrets(args: Mapping[str, str]) -> None:
    """Raise if a model argument contains a secret: it would be stored and shown to readers."""
    for name in args:
        if is_secret_name(name):
            what = f"the model argument {name!r} would store a secret in the database"
            fix = (
                "store it in an environment variable of the server and pass the variable's name: key_env=NAME"
            )
            raise UsageError(Problem("TEAM-032", what, fix))
