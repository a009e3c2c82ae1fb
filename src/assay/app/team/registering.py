"""What becomes known to a team: models by their names, and the datasets of the owner's folders."""

from __future__ import annotations

import re

import msgspec

from assay.app.settings import RunSettings
from assay.app.team.messages import (
    Check,
    CheckedTask,
    CheckPassed,
    FoundDataset,
    FoundDatasets,
    ListFolders,
    TryModel,
)
from assay.app.team.plan import AskedSettings, build_model_settings, make_plan, require_no_secrets
from assay.app.team.settings import FILE, DatasetDescription
from assay.app.team.team import Team
from assay.core.errors import AuthorError, Problem, UsageError, listing, suggest_name
from assay.core.names import compose_name
from assay.core.origin import Origin
from assay.core.roles import Bearer
from assay.ledger.datasets import Dataset, Provenance
from assay.ledger.models import Model

NAME_PATTERN = r"\w[\w.+-]{0,99}"
"""What a registered name looks like."""
_NAME = re.compile(NAME_PATTERN)
_LONGEST_NAME = 200
"""In bytes, as file systems count: uploads are kept in files of their names."""
_ROWS = 5
"""Rows of a dataset that are shown."""


def check_name(name: str) -> str:
    """Return a name under which something may be registered, its letters composed, or raise TEAM-034."""
    name = compose_name(name)
    if not _NAME.fullmatch(name):
        what = f"{name[:100]!r} cannot be a name"
        fix = "use letters, digits and . _ + -, beginning with a letter or digit, 100 at most"
        raise UsageError(Problem("TEAM-034", what, fix))
    if (n_bytes := len(name.encode())) > _LONGEST_NAME:
        what = f"the name {name!r} has {n_bytes} bytes in UTF-8, {_LONGEST_NAME} are allowed"
        raise AuthorError(Problem("TEAM-034", what, "choose a shorter name"))
    return name


def register_model(team: Team, model: Model, by: Bearer) -> Model:
    """Register a model that can be opened, as far as is known without calling it."""
    require_no_secrets(model.args)
    values = {**build_model_settings(model), "offline": team.settings.offline}
    team.asker.ask(TryModel(msgspec.convert(values, RunSettings)))
    return team.models.add(msgspec.structs.replace(model, name=check_name(model.name), registered_by=by.name))


def register_folders(team: Team) -> tuple[Problem, ...]:
    """Find the datasets of the owner's folders; return what is wrong with some, so that it can be told."""
    found = team.asker.ask(ListFolders(team.settings))
    assert isinstance(found, FoundDatasets)
    words = dict(team.settings.dataset)
    uploads = {one.name for one in team.datasets.every() if one.provenance is Provenance.UPLOAD}
    problems, datasets = list(found.problems), []
    for one in found.datasets:
        said = words.pop(one.name, DatasetDescription())
        if one.name in uploads:
            what = f"{one.place} has the name of an uploaded dataset, {one.name!r}, and is left out"
            problems.append(Problem("TEAM-040", what, "rename the file, or delete the upload"))
            continue
        _check_settings(one.name, said)
        datasets.append(_dataset(one, said))
    names = [dataset.name for dataset in datasets]
    for name in words:
        what = f"[dataset.{name}] speaks of a dataset that is in no folder{suggest_name(name, names)}"
        fix = f"the datasets are {listing(names, at_most=20) or 'none'}"
        problems.append(Problem("TEAM-052", what, fix, Origin(FILE)))
    team.datasets.replace_folders(datasets)
    return tuple(problems)


def preview_dataset(team: Team, dataset: Dataset) -> tuple[CheckedTask, ...]:
    """Return how a dataset is understood, and its first rows."""
    settings = team.settings
    of_server = {} if settings.data_root is None else {"data_root": settings.data_root}
    plan = make_plan(Model("mock", "mock"), [dataset], AskedSettings(), judge=None, of_server=of_server)
    checked = team.asker.ask(Check(plan, settings.allow_python, n_rows=_ROWS))
    assert isinstance(checked, CheckPassed)
    return checked.tasks


def _dataset(one: FoundDataset, said: DatasetDescription) -> Dataset:
    return Dataset(
        one.name,
        one.place,
        one.dialect,
        Provenance.FOLDER,
        one.explanation if said.explanation is None else said.explanation,
        said.abilities or (),
        one.metrics if said.metrics is None else said.metrics,
        one.headline if said.headline is None else said.headline,
        said.settings,
        "owner",
    )


_SERVERS_OWN = frozenset(
    ("model", "model_args", "judge", "judge_args", "out", "runs_dir", "fresh", "stage", "answers_from")
)
"""Settings of a run that are no dataset's."""


def _check_settings(name: str, said: DatasetDescription) -> None:
    """Raise where the owner sets something for a dataset that is no setting, or has a wrong value."""
    known = [one for one in RunSettings.__struct_fields__ if one not in _SERVERS_OWN]
    for setting in said.settings:
        if setting not in known:
            what = f"[dataset.{name}] sets {setting!r}, which it cannot{suggest_name(setting, known)}"
            fix = f"use one of {listing(known, at_most=40)}"
            raise UsageError(Problem("TEAM-052", what, fix, Origin(FILE)))
    try:
        msgspec.convert(said.settings, RunSettings)
    except msgspec.ValidationError as error:
        what = f"[dataset.{name}] sets something wrong: {error}"
        raise UsageError(Problem("TEAM-052", what, "correct the value", Origin(FILE))) from error
