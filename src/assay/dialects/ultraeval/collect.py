"""Find the tasks that a name refers to: the data of each, and a script for each method.

Paths in a config are relative to the checkout it was written in. The original runs there, so it searches the
working folder. Paths in a list are searched there first, then from the list upwards; paths in a config of a
dataset's folder from the config upwards first. A copied dataset folder is used as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from assay.core.errors import AuthorError, Problem, listing, suggest_name
from assay.core.method import Method
from assay.core.origin import Origin
from assay.dialects.ultraeval.arguments import TransformArguments
from assay.dialects.ultraeval.config import TaskConfig, format_task_part, read_configs
from assay.dialects.ultraeval.detect import (
    DatasetName,
    find_dataset_folders,
    is_config_file,
    is_dataset_folder,
)
from assay.sources.dataset_folder import DatasetMissing
from assay.sources.files import find_suffix

_NAME = re.compile(r"transform(?:_(?P<method>gen|ppl))?(?:_(?P<version>.+))?")
_NUMBERED = re.compile(r"v(\d+(?:\.\d+)*)")


class TransformVersion(NamedTuple):
    """One script, with what its name says."""

    path: Path
    method: Method | None
    """`gen`, `ppl`, or None for a script for both."""
    name: str | None
    """`v0`, `cot`, ...; None for a script without a version."""

    @classmethod
    def of(cls, path: Path) -> TransformVersion:
        """Parse a script's name."""
        match = _NAME.fullmatch(path.stem)
        if match is None:
            return cls(path, None, None)
        method = Method(match["method"]) if match["method"] else None
        return cls(path, method, match["version"])

    @property
    def age(self) -> tuple[bool, tuple[int, ...], str]:
        """Return a sort key for versions from old to new: numbered versions are newer than others."""
        number = _NUMBERED.fullmatch(self.name or "")
        parts = tuple(map(int, number[1].split("."))) if number else ()
        return bool(parts), parts, self.name or ""

    def supports_method(self, method: Method) -> bool:
        """Return whether it is written for a method."""
        return self.method in (None, find_recipe_method(method))


def find_recipe_method(method: Method) -> Method:
    """Return the method whose scripts and configs a method uses: `prob` uses those of `gen`."""
    return Method.PPL if method == Method.PPL else Method.GEN


def list_versions(folder: Path) -> list[TransformVersion]:
    """Return the scripts of a folder, the oldest first."""
    return sorted(
        (TransformVersion.of(path) for path in folder.glob("transform*.py")), key=lambda version: version.age
    )


def find_newest(versions: Iterable[TransformVersion], method: Method) -> TransformVersion | None:
    """Return the newest script for a method; one for this method is preferred to one for both."""
    serving = [version for version in versions if version.supports_method(method)]
    return max(serving, key=lambda version: (version.method is not None, version.age), default=None)


def find_version(versions: Sequence[TransformVersion], name: str, method: Method) -> TransformVersion | None:
    """Return the script with a version's name (`v0`), or with its file's name."""
    for version in versions:
        if version.supports_method(method) and name in (version.name, version.path.name, version.path.stem):
            return version
    return None


DATA = "data"
MAKER = "make_dataset.py"
_DEPTH = 4
"""Maximum number of folders above a config where its paths can begin."""


class Recipe(NamedTuple):
    """How one method of a task builds its requests."""

    version: TransformVersion
    config: TaskConfig | None
    """None if the folder has no config, only a transform and data."""
    config_path: Path | None
    available: tuple[TransformVersion, ...]
    """The scripts of the dataset's folder for this method."""
    folder: Path | None = None
    """The dataset's folder, if it has one."""


class CollectedTask(NamedTuple):
    """One task as written."""

    dataset: str
    task: str
    data: Path
    recipes: Mapping[Method, Recipe]
    """By `gen` and `ppl`; `prob` uses the recipe of `gen`."""

    @property
    def name(self) -> str:
        """Return the task's name: for a dataset with one task, the dataset's name."""
        return self.dataset if self.task == format_task_part(self.dataset) else f"{self.dataset}:{self.task}"

    def full_name(self, method: Method) -> str:
        """Return the task name that the original passes to a transform."""
        return f"{self.dataset}_{self.task}_{find_recipe_method(method)}"


def collect_tasks(name: str, arguments: TransformArguments) -> list[CollectedTask]:
    """Return the selected tasks of a name."""
    named = DatasetName.of(name)
    if not named.path.exists():
        raise AuthorError(_build_no_path_problem(named.path))
    if named.path.is_dir():
        written = [
            task for folder in find_dataset_folders(named.path) for task in _collect_folder(folder, arguments)
        ]
    elif named.path.suffix == ".json" and (arguments.transform is None or is_config_file(named.path)):
        written = _group_methods(_collect_configs(named.path, None, arguments))
    elif named.path.suffix == ".py":
        written = _collect_script(named.path, arguments)
    else:
        written = _collect_data_file(named.path, arguments)
    chosen = _select_tasks(written, named)
    if arguments.data is None:
        for task in chosen:
            _require_data(task)
    return chosen


def _require_data(written: CollectedTask) -> None:
    """Raise for a task whose config names missing data; data of unselected tasks can be missing."""
    recipe = next(iter(written.recipes.values()))
    if recipe.config is not None and recipe.config_path is not None and not written.data.is_file():
        raise DatasetMissing(_build_missing_problem(recipe.config.path, recipe.config_path, recipe.folder))


def _select_tasks(written: Sequence[CollectedTask], named: DatasetName) -> list[CollectedTask]:
    if not written:
        where = Origin(str(named.path))
        raise AuthorError(
            Problem(
                "ULTRAEVAL-003",
                "no transform and no task config found here",
                f"write transform_gen_v0.py and {DATA}/NAME.jsonl, or see `assay new NAME --like ultraeval`",
                where,
            )
        )
    if not named.tasks:
        return list(written)
    wanted = [format_task_part(pattern) for pattern in named.tasks]
    names = [task.task for task in written]
    for pattern in wanted:
        if not any(fnmatchcase(name, pattern) for name in names):
            what = f"no task {pattern!r}{suggest_name(pattern, names)}; the tasks are {listing(names)}"
            raise AuthorError(Problem("ULTRAEVAL-003", what, "use one of these", Origin(str(named.path))))
    return [task for task in written if any(fnmatchcase(task.task, pattern) for pattern in wanted)]


class _MethodRecipe(NamedTuple):
    """One method of one task, before methods are grouped."""

    dataset: str
    task: str
    data: Path
    method: Method
    recipe: Recipe


def _group_methods(method_recipes: Iterable[_MethodRecipe]) -> list[CollectedTask]:
    """Group the methods of a task: those with the same name and the same data."""
    groups: dict[tuple[str, str, Path], dict[Method, Recipe]] = {}
    for entry in method_recipes:
        recipes = groups.setdefault((entry.dataset, entry.task, entry.data), {})
        if entry.method in recipes:
            earlier = recipes[entry.method].config_path
            what = (
                f"the task {entry.task!r} for {entry.method} is defined twice, here and in {str(earlier)!r}"
            )
            where = Origin(str(entry.recipe.config_path))
            raise AuthorError(Problem("ULTRAEVAL-002", what, "give each a unique task_name", where))
        recipes[entry.method] = entry.recipe
    return [CollectedTask(*key, recipes) for key, recipes in groups.items()]


def _collect_folder(folder: Path, arguments: TransformArguments) -> list[CollectedTask]:
    dataset = folder.resolve().name.lower()
    configs = sorted(folder.glob("config/*.json"))
    if configs:
        return _group_methods(
            recipe for path in configs for recipe in _collect_configs(path, folder, arguments)
        )
    versions = list_versions(folder)
    files = [Path(arguments.data)] if arguments.data else _data_files(folder)
    if not files:
        raise _build_no_data_error(folder)
    return [_build_bare_task(dataset, data, versions, arguments, folder) for data in files]


def _collect_script(path: Path, arguments: TransformArguments) -> list[CollectedTask]:
    """Return the tasks of a script, with its folder's data or the given data."""
    folder = path.parent
    files = [Path(arguments.data)] if arguments.data else _data_files(folder)
    if not files:
        raise _build_no_data_error(folder)
    version = TransformVersion.of(path)
    methods = (version.method,) if version.method else (Method.GEN, Method.PPL)
    dataset = folder.resolve().name.lower()
    versions = tuple(list_versions(folder)) or (version,)
    return [
        CollectedTask(
            dataset if arguments.data is None else data.stem.lower(),
            format_task_part(data.stem),
            data,
            {method: Recipe(version, None, None, _filter_by_method(versions, method)) for method in methods},
        )
        for data in files
    ]


def _collect_data_file(path: Path, arguments: TransformArguments) -> list[CollectedTask]:
    """Return the task of a data file, with the given script or one of its dataset's folder."""
    folder = path.parent.parent if path.parent.name == DATA else path.parent
    named = None if arguments.transform is None else Path(arguments.transform)
    versions = (
        [TransformVersion.of(named)] if named is not None and named.suffix == ".py" else list_versions(folder)
    )
    return [_build_bare_task(path.stem.lower(), path, versions, arguments, folder)]


def _build_bare_task(
    dataset: str,
    data: Path,
    versions: Sequence[TransformVersion],
    arguments: TransformArguments,
    folder: Path,
) -> CollectedTask:
    """Return the task of a data file without a config."""
    recipes = {}
    for method in (Method.GEN, Method.PPL):
        version = (
            _pick_version(versions, method, arguments, folder)
            if arguments.transform
            else find_newest(versions, method)
        )
        if version is not None:
            recipes[method] = Recipe(version, None, None, _filter_by_method(versions, method))
    if not recipes:
        raise AuthorError(_build_no_transform_problem(arguments.transform or "transform*.py", folder))
    return CollectedTask(dataset, format_task_part(data.stem), data, recipes)


def _collect_configs(
    path: Path, folder: Path | None, arguments: TransformArguments
) -> Iterator[_MethodRecipe]:
    if folder is None and path.parent.name == "config" and is_dataset_folder(path.parent.parent):
        folder = path.parent.parent
    for config in read_configs(path):
        dataset, task = config.names(None if folder is None else folder.resolve().name.lower())
        data = (
            Path(arguments.data)
            if arguments.data
            else _find_config_path(config.path, path, folder) or Path(config.path)
        )
        script = _find_config_path(config.transform, path, folder)
        versions = tuple(list_versions(script.parent if script else folder or path.parent))
        if arguments.transform:
            version = _pick_version(versions, config.method, arguments, folder or path.parent)
            if version is None:
                # Only the other method has this version.
                continue
        elif script is None:
            raise AuthorError(_build_no_transform_problem(config.transform, folder or path.parent, path))
        else:
            version = TransformVersion.of(script)
        available = _filter_by_method(versions, config.method)
        yield _MethodRecipe(
            dataset, task, data, config.method, Recipe(version, config, path, available, folder)
        )


def _pick_version(
    versions: Sequence[TransformVersion], method: Method, arguments: TransformArguments, folder: Path
) -> TransformVersion | None:
    """Return the script with the given name or path; None if only another method has it."""
    assert arguments.transform is not None
    path = Path(arguments.transform)
    if path.suffix == ".py" and path.is_file():
        version = TransformVersion.of(path)
        return version if version.supports_method(method) else None
    named = find_version(versions, arguments.transform, method)
    if named is None and not any(
        find_version(versions, arguments.transform, other) for other in (Method.GEN, Method.PPL)
    ):
        raise AuthorError(_build_no_transform_problem(arguments.transform, folder))
    return named


def find_config_file(written: str, recipe: Recipe) -> Path | None:
    """Return the file of a path in a recipe's config; None if it does not exist."""
    return (
        None if recipe.config_path is None else _find_config_path(written, recipe.config_path, recipe.folder)
    )


def _filter_by_method(versions: Sequence[TransformVersion], method: Method) -> tuple[TransformVersion, ...]:
    return tuple(version for version in versions if version.supports_method(method))


def _find_config_path(written: str, config: Path, folder: Path | None) -> Path | None:
    """Return the file of a config's path; None if it does not exist."""
    relative = PurePosixPath(written)
    if relative.is_absolute():
        return Path(written) if Path(written).is_file() else None
    above = [config.resolve().parent, *config.resolve().parents[1:_DEPTH]]
    for base in [Path.cwd(), *above] if folder is None else above:
        if (base / relative).is_file():
            return _short(base / relative)
    if folder is not None:
        # `datasets/NAME/data/x.jsonl` in a folder that was moved or renamed.
        for skipped in range(1, len(relative.parts)):
            inside = folder.joinpath(*relative.parts[skipped:])
            if inside.is_file():
                return inside
        if (Path.cwd() / relative).is_file():
            return Path(relative)
    return None


def _short(path: Path) -> Path:
    """Return a path relative to the working folder, if possible."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _data_files(folder: Path) -> list[Path]:
    place = folder / DATA if (folder / DATA).is_dir() else folder
    return [path for path in sorted(place.iterdir()) if path.is_file() and find_suffix(path.name)]


def _build_missing_problem(written: str, config: Path, folder: Path | None) -> Problem:
    maker = None if folder is None else folder / MAKER
    fix = (
        "put the rows there, or fix the config's path, which is searched in the working folder and in "
        f"{str(config.parent)!r} and above"
    )
    if maker is not None and maker.is_file():
        fix = f"create it with `assay prepare {folder}`, or put the rows there"
    what = f'"path" is the data file {written!r}, which does not exist'
    return Problem("ULTRAEVAL-004", what, fix, Origin(str(config)))


def _build_no_data_error(folder: Path) -> DatasetMissing:
    fix = f"put the rows into {folder / DATA}/NAME.jsonl, or pass --dataset-arg data=FILE"
    if (folder / MAKER).is_file():
        fix = f"create them with `assay prepare {folder}`, or put the rows into {folder / DATA}/NAME.jsonl"
    return DatasetMissing(Problem("ULTRAEVAL-004", "the folder has no data", fix, Origin(str(folder))))


def _build_no_path_problem(path: Path) -> Problem:
    siblings = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    what = f"no such file or folder{suggest_name(path.name, siblings)}"
    return Problem("ULTRAEVAL-003", what, "check the path", Origin(str(path)))


def _build_no_transform_problem(wanted: str, folder: Path, config: Path | None = None) -> Problem:
    known = [version.path.name for version in list_versions(folder)]
    what = f"no transform {wanted!r}{suggest_name(Path(wanted).name, known)}"
    if config is not None:
        what = f'"transform" is {wanted!r}, which does not exist{suggest_name(Path(wanted).name, known)}'
    fix = "write one that defines transform(data, num_sample, r, dataset_name)"
    if known:
        fix = f"use one of {listing(known)}"
    elif config is not None:
        fix += f", or run from the checkout; searched the working folder, {str(config.parent)!r} and above"
    where = Origin(str(folder if config is None else config))
    return Problem("ULTRAEVAL-003", what, fix, where)
