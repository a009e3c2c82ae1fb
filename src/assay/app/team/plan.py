"""What is asked for becomes a plan: the datasets, the model and every setting, each with who said it.

A plan is made when an evaluation is asked for, and does not change any more: what was checked is what is
done, whatever is registered later under the same names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from assay.app.settings import RunSettings, Settings
from assay.core.errors import Problem, UsageError, listing
from assay.core.sampling_bounds import Length, Repeats, Temperature, TopP
from assay.core.secrets import is_secret_name
from assay.ledger.datasets import Dataset
from assay.ledger.models import Model


class AskedSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The settings of `assay run` that whoever asks for an evaluation may choose: none of them is a path."""

    method: tuple[Literal["ppl", "prob", "gen"], ...] | None = None
    """How a model is asked; several ways are compared. Without it, the dataset's own."""
    shots: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Solved examples before each question."""
    shot_policy: Literal["first", "random"] | None = None
    """How examples are chosen."""
    seed: int | None = None
    """Decides every draw."""
    limit: str | int | None = None
    """A part of the dataset: `100`, `first:100` or `last:100` samples."""
    score_by: Literal["sum", "per_token", "per_char", "per_byte", "pmi"] | None = None
    """How options' likelihoods are compared."""
    fidelity: Literal["corrected", "faithful"] | None = None
    """`faithful` reproduces the original system's quirks."""
    chat: Literal["auto", "on", "off"] | None = None
    """Whether prompts are conversations."""
    max_tokens: Length | None = None
    """The longest answer."""
    temperature: Temperature | None = None
    top_p: TopP | None = None
    stop: tuple[str, ...] | None = None
    """Texts at which an answer ends."""
    samples: Repeats | None = None
    """Answers to each question."""
    cot: str | None = None
    """The chain of thought that dataset classes ask for."""
    retry_failed: bool | None = None
    """Ask again what failed in an earlier attempt."""
    keep_going: bool | None = None
    """Go on though the server refuses the first requests alike."""


class EvaluationPlan(msgspec.Struct, frozen=True):
    """All that a worker needs, but for the folder of the run."""

    datasets: tuple[str, ...]
    """What `assay run` takes."""
    values: RunSettings
    sources: dict[str, str]
    """Where each value came from."""

    def shown(self) -> dict[str, Any]:
        """Return what the request and the datasets have set."""
        names = [name for name, source in self.sources.items() if source in ("dataset", "request")]
        return {
            name: msgspec.to_builtins(getattr(self.values, name)) for name in names if name != "judge_args"
        }

    def settings(self, out: str) -> Settings:
        """Return the settings of the run that is kept in a folder."""
        values = msgspec.structs.replace(self.values, out=out)
        return Settings(values, {**self.sources, "out": "server"})


def make_plan(
    model: Model,
    datasets: Sequence[Dataset],
    asked: AskedSettings,
    *,
    judge: Model | None,
    of_server: Mapping[str, Any],
) -> EvaluationPlan:
    """Return the plan. What was asked for wins over datasets' own settings, and those over the server's."""
    said = {name: value for name, value in msgspec.structs.asdict(asked).items() if value is not None}
    if "limit" in said:
        said["limit"] = str(said["limit"])
    layers: list[tuple[str, Mapping[str, Any]]] = [
        ("server", of_server),
        ("dataset", _merge_dataset_settings(datasets, said)),
        ("request", said),
        ("model", build_model_settings(model)),
    ]
    if judge is not None:
        layers.append(("request", {"judge": judge.spec, "judge_args": judge.args}))
    values: dict[str, Any] = {}
    sources = dict.fromkeys(RunSettings.__struct_fields__, "default")
    for source, layer in layers:
        values |= layer
        sources |= dict.fromkeys(layer, source)
    made = msgspec.convert(values, RunSettings)
    return EvaluationPlan(tuple(dataset.place for dataset in datasets), made, sources)


def build_model_settings(model: Model) -> dict[str, Any]:
    """Return what a registered model sets of a run with it."""
    placed = {"workers": model.workers, "on": model.on}
    said = {name: value for name, value in placed.items() if value is not None}
    return {"model": model.spec, "model_args": model.args, **said}


def _merge_dataset_settings(datasets: Sequence[Dataset], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the datasets say of themselves; two that say different things are not one run."""
    found: dict[str, Any] = {}
    for name in dict.fromkeys(name for dataset in datasets for name in dataset.settings):
        values = [dataset.settings.get(name) for dataset in datasets]
        if name not in said and any(value != values[0] for value in values):
            what = f"the datasets {listing(one.name for one in datasets)} have different values of {name!r}"
            fix = f"evaluate them apart, or say {name!r} in the request"
            raise UsageError(Problem("TEAM-061", what, fix))
        found[name] = values[0]
    return found


def require_no_secrets(args: Mapping[str, str]) -> None:
    """Raise where an argument of a model holds a secret: it would be kept, and shown to readers."""
    for name in args:
        if is_secret_name(name):
            what = f"the model argument {name!r} would keep a secret in the database"
            fix = "put it into an environment variable of the server, and name that: key_env=NAME"
            raise UsageError(Problem("TEAM-032", what, fix))
