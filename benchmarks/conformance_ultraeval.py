"""Which transform scripts and task configs of a checkout of UltraEval load and render.

    python -m benchmarks.conformance_ultraeval --checkout DIR              # prints the counts
    python -m benchmarks.conformance_ultraeval --checkout DIR --write      # puts them into RESULTS.md

A checkout has no data: make it with `assay prepare DIR`, from raw files. A config whose data is there
*renders* when every row becomes a prompt, with as many examples as it asks for, corrected and faithful; a
script renders when it does so for all configs of its folder and method. Beside the checkout's scripts only
Assay's own code is run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.app.datasets import compile_datasets
from assay.core.errors import AssayError
from assay.core.task import TaskSettings
from assay.dialects.ultraeval.collect import TransformVersion, list_versions
from assay.dialects.ultraeval.config import TaskConfig, read_configs
from assay.dialects.ultraeval.detect import find_dataset_folders
from assay.dialects.ultraeval.script import Script
from assay.results.rows import markdown_list, markdown_table
from assay.scoring.originals.opencompass.postprocess import POSTPROCESSORS
from assay.sources.dataset_folder import DatasetMissing
from benchmarks.record import add_output_options, hand_over, setting


class Rendered(NamedTuple):
    """What became of one config by one script."""

    config: Path
    script: Path
    is_own: bool
    """Whether the config names the script itself."""
    n_prompts: int = 0
    has_data: bool = True
    problem: str | None = None


class Counts(NamedTuple):
    """How many of one kind of file there are, and how far they come."""

    what: str
    n: int
    n_loaded: int
    n_with_data: int
    n_rendered: int


def main() -> None:
    """Go through a checkout and hand the counts over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--checkout", type=Path, required=True, help="a checkout of UltraEval, with its data")
    add_output_options(parser)
    options = parser.parse_args()
    folders = find_dataset_folders(options.checkout)
    if not folders:
        raise SystemExit(f"{options.checkout} has no dataset folders")
    hand_over("conformance_ultraeval", section(folders), options)


def section(folders: Sequence[Path]) -> str:
    """Return the counts, and what does not load or render."""
    scripts = [version for folder in folders for version in list_versions(folder)]
    paths = [path for folder in folders for path in sorted(folder.glob("config/*.json"))]
    unloadable = {one.path: problem for one in scripts if (problem := script_problem(one.path))}
    configs = {path: config for path in paths if (config := config_of(path)) is not None}
    rendered = [one for path, config in configs.items() for one in every_version(path, config)]
    counts = [
        counted("transform scripts", [one.path for one in scripts], unloadable, rendered, by_script=True),
        counted("task configs", paths, set(paths) - set(configs), rendered, by_script=False),
    ]
    problems = [f"{path}: {problem}" for path, problem in unloadable.items()]
    problems += [f"{one.config} by {one.script.name}: {one.problem}" for one in rendered if one.problem]
    rows = [(one.what, *(f"{n:,}" for n in one[1:])) for one in counts]
    table = markdown_table(("files", "there", "load", "have data", "render"), rows)
    n_prompts = sum(one.n_prompts for one in rendered)
    parts = [f"{len(folders)} dataset folders; {n_prompts:,} prompts were made.", table]
    return "\n\n".join([*parts, *([markdown_list(problems)] if problems else []), setting()])


def counted(
    what: str, paths: Sequence[Path], bad: Iterable[Path], rendered: Sequence[Rendered], *, by_script: bool
) -> Counts:
    """Count one kind of file."""
    tried: dict[Path, list[Rendered]] = {}
    for one in rendered:
        if by_script or one.is_own:
            tried.setdefault(one.script if by_script else one.config, []).append(one)
    has_data = [some for some in tried.values() if all(one.has_data for one in some)]
    fine = [some for some in has_data if not any(one.problem for one in some)]
    return Counts(what, len(paths), len(paths) - len(set(bad)), len(has_data), len(fine))


def script_problem(path: Path) -> str | None:
    """Return why a script cannot be loaded; None when it can."""
    try:
        Script(path, POSTPROCESSORS, is_faithful=False)
    except AssayError as error:
        return error.problems[0].what
    return None


def config_of(path: Path) -> TaskConfig | None:
    """Return the config in a file; None when it cannot be read."""
    try:
        (config,) = read_configs(path)
    except AssayError:
        return None
    return config


def every_version(path: Path, config: TaskConfig) -> list[Rendered]:
    """Render a config by its own script, and by every other script of its method."""
    versions = [one for one in list_versions(path.parent.parent) if one.supports_method(config.method)]
    return [render(path, config, version) for version in versions]


def render(path: Path, config: TaskConfig, version: TransformVersion) -> Rendered:
    """Make all prompts of a config by a script, corrected and faithful."""
    rendered = Rendered(path, version.path, is_own=version.path.name == Path(config.transform).name)
    n_prompts = 0
    for is_faithful in (False, True):
        settings = TaskSettings(
            methods=(config.method,),
            is_faithful=is_faithful,
            dataset_args={"transform": str(version.path)},
        )
        try:
            (one,) = compile_datasets(
                (str(path),), settings, given={}, meta=None, data_root=None, split=None, dialect="ultraeval"
            )
            n_prompts += sum(1 for sample in one.task.samples() if one.task.requests(sample))
        except DatasetMissing:
            return rendered._replace(has_data=False)
        except AssayError as error:
            return rendered._replace(problem=f"{error.problems[0].what} ({error.problems[0].code})")
    return rendered._replace(n_prompts=n_prompts)


if __name__ == "__main__":
    main()
