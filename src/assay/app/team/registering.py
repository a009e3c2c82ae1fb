"""Register models, and the datasets of the owner's folders."""

from __future__ import annotations

import re

import msgspec

from assay.app.settings import RunSettings
from assay.app.team.messages import (
    Check,
    CheckedTask,
    CheckPassed,
    FolderDataset,
    FolderDatasets,
    ListFolders,
    TryModel,
)
from assay.app.team.plan import EvaluationSettings, build_model_settings, make_plan, require_no_secrets
from assay.app.team.settings import FILE, DatasetDescription
from assay.app.team.team import Team
from assay.backends.registry import BACKENDS
from assay.core.errors import AuthorError, Problem, UsageError, explain_type_error, listing, suggest_name
from assay.core.names import compose_name
from assay.core.origin import Origin
from assay.core.roles import Bearer
from assay.core.team import Provenance, RegisteredDataset, RegisteredModel

NAME_PATTERN = r"\w[\w.+-]{0,99}"
"""Pattern of a registered name."""
_NAME = re.compile(NAME_PATTERN)
_LONGEST_NAME = 200
"""In bytes, as file systems count: uploads are stored in files with their names."""
_ROWS = 5
"""Number of rows in a preview."""


def check_name(name: str) -> str:
    """Return a valid name with its letters composed, or raise TEAM-034."""
    name = compose_name(name)
    if not _NAME.fullmatch(name):
        what = f"{name[:100]!r} is not a valid name"
        fix = "use up to 100 letters, digits and . _ + -, starting with a letter or digit"
        raise UsageError(Problem("TEAM-034", what, fix))
    if (n_bytes := len(name.encode())) > _LONGEST_NAME:
        what = f"the name {name!r} has {n_bytes} bytes in UTF-8, but the limit is {_LONGEST_NAME}"
        raise AuthorError(Problem("TEAM-034", what, "choose a shorter name"))
    return name


def register_model(team: Team, model: RegisteredModel, by: Bearer) -> RegisteredModel:
    """Register a model that can be opened, as far as is known without calling it."""
    require_no_secrets(model.args)
    values = {**build_model_settings(model), "offline": team.settings.offline}
    team.asker.ask(TryModel(msgspec.convert(values, RunSettings)))
    return team.models.add(msgspec.structs.replace(model, name=check_name(model.name), registered_by=by.name))


def register_folders(team: Team) -> tuple[Problem, ...]:
    """Register the datasets of the owner's folders; return problems with some of them."""
    listed = team.asker.ask(ListFolders(team.settings))
    assert isinstance(listed, FolderDatasets)
    descriptions = dict(team.settings.dataset)
    uploads = {one.name for one in team.datasets.every() if one.provenance is Provenance.UPLOAD}
    problems, datasets = list(listed.problems), []
    for one in listed.datasets:
        description = descriptions.pop(one.name, DatasetDescription())
        if one.name in uploads:
            what = f"{one.place} is not registered: an uploaded dataset has the same name, {one.name!r}"
            problems.append(Problem("TEAM-040", what, "rename the file, or delete the upload"))
            continue
        _check_settings(one.name, description)
        datasets.append(_dataset(one, description))
    names = [dataset.name for dataset in datasets]
    for name in descriptions:
        what = f"[dataset.{name}] describes a dataset that no folder contains{suggest_name(name, names)}"
        fix = f"use one of {listing(names, at_most=20)}" if names else "there are no datasets: remove it"
        problems.append(Problem("TEAM-052", what, fix, Origin(FILE)))
    team.datasets.replace_folders(datasets)
    return tuple(problems)


def preview_dataset(team: Team, dataset: RegisteredDataset) -> tuple[CheckedTask, ...]:
    """Return how a dataset is read, with its first rows."""
    settings = team.settings
    of_server = {} if settings.data_root is None else {"data_root": settings.data_root}
    plan = make_plan(
        RegisteredModel("mock", "mock"), [dataset], EvaluationSettings(), judge=None, of_server=of_server
    )
    checked = team.asker.ask(Check(plan, settings.allow_python, n_rows=_ROWS))
    assert isinstance(checked, CheckPassed)
    return checked.tasks


def _dataset(one: FolderDataset, description: DatasetDescription) -> RegisteredDataset:
    return RegisteredDataset(
        one.name,
        one.place,
        one.dialect,
        Provenance.FOLDER,
        one.explanation if description.explanation is None else description.explanation,
        description.abilities or (),
        one.metrics if description.metrics is None else description.metrics,
        one.headline if description.headline is None else description.headline,
        description.settings,
        "owner",
    )


_SERVERS_OWN = frozenset(
    (
        "model",
        "model_args",
        "label",
        "prompt_label",
        "judge",
        "judge_args",
        "out",
        "runs_dir",
        "fresh",
        "stage",
        "answers_from",
    )
)
"""Settings of a run that a dataset cannot have."""


def _check_settings(name: str, description: DatasetDescription) -> None:
    """Raise if the owner's settings of a dataset are unknown or have wrong values."""
    known = [one for one in RunSettings.__struct_fields__ if one not in _SERVERS_OWN]
    for setting in description.settings:
        if setting not in known:
            what = f"[dataset.{name}] sets {setting!r}, which is not a setting of datasets"
            what += suggest_name(setting, known)
            fix = f"use one of {listing(known, at_most=40)}"
            raise UsageError(Problem("TEAM-052", what, fix, Origin(FILE)))
    try:
        msgspec.convert(description.settings, RunSettings)
    except msgspec.ValidationError as error:
        what = f"[dataset.{name}] has a wrong value: {explain_type_error(error)}"
        raise UsageError(Problem("TEAM-052", what, "correct the value", Origin(FILE))) from error


def list_model_kinds() -> list[str]:
    """Return the kinds of models that can be registered, such as `hf` and `openai`."""
    return sorted(BACKENDS)
