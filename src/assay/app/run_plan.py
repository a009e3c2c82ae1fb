"""Several models and several prompts of one command: their names, and the settings of each run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.app.settings import RunSettings, Settings
from assay.backends.registry import SERVERS
from assay.core.errors import Problem, UsageError, listing, suggest_name
from assay.core.model_names import NamedChoice, find_label_fault, split_model_label, title_of_spec
from assay.core.origin import Origin

NAME_CODE = "GROUP-001"
LABEL_CODE = "GROUP-002"
ARGUMENT_CODE = "GROUP-003"
PROMPT_CODE = "GROUP-004"


class PlannedRun(NamedTuple):
    """One run of a command: a model with a prompt."""

    model: str
    """The model's label, or its name without the address of a server."""
    prompt: str | None
    """The name of the prompt; None if the command names none."""
    settings: Settings

    @property
    def title(self) -> str:
        """Return the model's name, with that of the prompt if it has one."""
        return f"{self.model} · {self.prompt}" if self.prompt else self.model


class PromptChoice(NamedTuple):
    """A prompt template, and its name."""

    label: str | None
    template: str | None
    """None: the prompt of the dataset."""


def plan_run(settings: Settings) -> PlannedRun:
    """Return the plan of one run."""
    values = settings.values
    return PlannedRun(values.label or title_of_spec(values.model), values.prompt_label, settings)


def plan_runs(settings: Sequence[Settings]) -> list[PlannedRun]:
    """Return the plan of several runs.

    If only some models are on servers, `--concurrency` and `--batch` apply to those, and `--workers` and
    `--on` to the others.
    """
    if settings[0].values.answers_from is not None:
        what = f"--answers-from names the answers of one run, but the command has {len(settings)} runs"
        fix = "omit it: --stage score finds the latest answers of each model and prompt"
        raise UsageError(Problem(LABEL_CODE, what, fix))
    are_served = [is_served(one.values.model) for one in settings]
    if len(set(are_served)) > 1:
        settings = [
            one.with_values(_keep_own_settings(one.values, served=served))
            for one, served in zip(settings, are_served, strict=True)
        ]
    return list(map(plan_run, settings))


def is_served(model: str) -> bool:
    """Return whether a model is on a server."""
    return model.partition(":")[0] in SERVERS


def _keep_own_settings(values: RunSettings, *, served: bool) -> RunSettings:
    if served:
        return msgspec.structs.replace(values, workers=None, on=None)
    return msgspec.structs.replace(values, concurrency=None, batch=False)


def place_in_folder(planned: PlannedRun, folder: Path, name: str) -> PlannedRun:
    """Return the plan of a run in a subfolder of `--out`."""
    settings = planned.settings
    return planned._replace(
        settings=settings.with_values(msgspec.structs.replace(settings.values, out=str(folder / name)))
    )


# --- models ---


def name_models(models: Sequence[str], label: str | None) -> list[NamedChoice]:
    """Return the models of a command with their labels; raise if names are missing, invalid or equal.

    `label`: the value of `--label`, which names a single model.
    """
    named = [split_model_label(one) for one in models]
    if label is not None:
        named = [_apply_label(one, label, n_models=len(named)) for one in named]
    problems = [problem for one in named for problem in _check_label(one)]
    problems += _check_distinct(named)
    if problems:
        raise UsageError(problems)
    return named


def require_label(label: str) -> None:
    """Raise GROUP-002 if a label cannot name a model."""
    if problems := list(_check_label(NamedChoice(label, "the model"))):
        raise UsageError(problems)


def _apply_label(one: NamedChoice, label: str, *, n_models: int) -> NamedChoice:
    if n_models > 1:
        what = f"--label {label!r} names one model, but the command has {n_models}"
        fix = f"name each model: -m {label}={title_of_spec(one.spec)}"
        raise UsageError(Problem(LABEL_CODE, what, fix))
    if one.label not in (None, label):
        what = f"--label {label!r} and -m {one.label}=... give the model two names"
        raise UsageError(Problem(LABEL_CODE, what, "use only one of them"))
    return one._replace(label=label)


def _check_label(one: NamedChoice) -> Iterator[Problem]:
    if one.label is not None and (fault := find_label_fault(one.label)) is not None:
        fix = "write -m NAME=MODEL or --label NAME with a short name, such as -m small=smollm2"
        yield Problem(LABEL_CODE, f"the label {one.label!r} cannot name a model: {fault}", fix)
    if not one.spec:
        what = f"-m {one.label}= names no model"
        yield Problem(LABEL_CODE, what, f"write the model after the =: -m {one.label}=smollm2")


def _check_distinct(named: Sequence[NamedChoice]) -> list[Problem]:
    """Return a problem for each name that several models have: their rows could not be distinguished."""
    counts = Counter(_title(one) for one in named)
    problems = []
    for title, count in counts.items():
        if count > 1:
            what = f"{count} models of the command have the name {title!r}"
            fix = "give each model its own name: -m NAME=MODEL; name a model only once"
            problems.append(Problem(NAME_CODE, what, fix))
    return problems


def _title(one: NamedChoice) -> str:
    return one.label or title_of_spec(one.spec)


def divide_model_args(args: Mapping[str, str], named: Sequence[NamedChoice]) -> list[dict[str, str]]:
    """Return the arguments of each model: `NAME.key=value` is for one model, `key=value` for all.

    An argument for one model takes precedence. Raises if a name before the dot is that of no model.
    """
    names = [_title(one) for one in named]
    shared: dict[str, str] = {}
    own: list[dict[str, str]] = [{} for _ in named]
    problems = []
    for key, value in args.items():
        at = max(
            (at for at, name in enumerate(names) if key.startswith(f"{name}.")),
            key=lambda at: len(names[at]),
            default=None,
        )
        if at is not None:
            own[at][key[len(names[at]) + 1 :]] = value
        elif "." in key and (len(named) > 1 or named[0].label is not None):
            given = key.rpartition(".")[0]
            what = f"--model-arg {key}: no model of the command has the name {given!r}"
            fix = f"the models are {listing(names)}; without NAME. an argument is for all of them"
            problems.append(Problem(ARGUMENT_CODE, what + suggest_name(given, names), fix))
        else:
            shared[key] = value
    if problems:
        raise UsageError(problems)
    return [{**shared, **specific} for specific in own]


# --- prompts ---


def read_prompts(files: Sequence[str], templates: Sequence[str]) -> list[PromptChoice]:
    """Return the prompt templates of a command: files first, then texts; the dataset's own if there is none.

    Raises all problems of the files together.
    """
    problems: list[Problem] = []
    prompts = [one for file in files if (one := _read_prompt_file(file, problems)) is not None]
    if len(files) + len(templates) == 1:
        prompts += [PromptChoice(None, text) for text in templates]
    else:
        prompts += [_name_template(text, number) for number, text in enumerate(templates, 1)]
    counts = Counter(one.label for one in prompts)
    for label, count in counts.items():
        if count > 1:
            what = f"{count} prompts of the command have the name {label!r}"
            problems.append(Problem(PROMPT_CODE, what, "give each its own name: --prompt NAME=FILE"))
    if problems:
        raise UsageError(problems)
    return prompts or [PromptChoice(None, None)]


def _read_prompt_file(given: str, problems: list[Problem]) -> PromptChoice | None:
    """Return the template in a file given as `FILE` or `NAME=FILE`; add a problem if it cannot be used."""
    label, equals, name = given.partition("=")
    path = Path(given)
    if equals and not path.exists():
        path = Path(name)
    else:
        label = path.stem
    fix = (
        "name a text file with a template, such as {question}, in UTF-8: --prompt FILE or --prompt NAME=FILE"
    )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        near = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
        hint = "" if path.exists() else suggest_name(path.name, near)
        what = f"--prompt: the file cannot be read: {why}{hint}"
        problems.append(Problem(PROMPT_CODE, what, fix, Origin(str(path))))
        return None
    if not text.strip():
        problems.append(Problem(PROMPT_CODE, "--prompt: the file is empty", fix, Origin(str(path))))
        return None
    if (fault := find_label_fault(label)) is not None:
        what = f"--prompt {given}: the name {label!r} cannot be used: {fault}"
        problems.append(Problem(PROMPT_CODE, what, "write --prompt NAME=FILE with a short name"))
        return None
    # Editors end a file with a line break, which is not part of the prompt.
    return PromptChoice(label, text.removesuffix("\n"))


def _name_template(text: str, number: int) -> PromptChoice:
    """Return one of several templates: `NAME=TEMPLATE`, or a template that is named by its number."""
    label, equals, template = text.partition("=")
    is_name = bool(label) and all(char.isalnum() or char in "-_." for char in label)
    if equals and is_name and template:
        return PromptChoice(label, template)
    return PromptChoice(f"template {number}", text)
