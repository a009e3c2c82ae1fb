"""What the tab key offers for the arguments and options of commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def complete_run(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer run ids, and folders."""
    from assay.app.completion import list_run_names

    names = list_run_names(context.params.get("runs_dir"))
    return [*_matching(names, incomplete), CompletionItem(incomplete, type="dir")]


def complete_dataset(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer benchmarks by name, and files."""
    from assay.app.completion import list_benchmark_names

    names = list_benchmark_names(incomplete)
    files = [] if ":" in incomplete else [CompletionItem(incomplete, type="file")]
    return [*_matching(names, incomplete), *files]


def complete_model(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the beginnings of models' names."""
    from assay.app.completion import list_model_kinds

    return _matching(list_model_kinds(), incomplete)


def complete_profile(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the profiles of the settings files."""
    from assay.app.completion import list_profiles

    return _matching(list_profiles(), incomplete)


def complete_setting(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the names of settings."""
    from assay.app.completion import list_setting_names

    return _matching(list_setting_names(), incomplete)


def completing(*names: str) -> Completer:
    """Return what offers fixed names; after a comma, those that are not named yet."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        given, comma, _ = incomplete.rpartition(",")
        return _matching(
            (f"{given}{comma}{name}" for name in names if name not in given.split(",")), incomplete
        )

    return complete


def _matching(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
