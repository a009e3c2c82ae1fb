"""Options in groups: `--help` shows the common options of a command, `--help-all` shows all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import click

Group = Literal[
    "Model", "Data", "Prompting", "Sampling", "Scoring", "Output and resume", "Scale", "Network", "Other"
]
"""The groups of a command's help, in the order in which it shows them."""


class GroupedOption(click.Option):
    """An option that belongs to a group of a command's help."""

    def __init__(self, *args: Any, group: Group = "Other", is_rare: bool = False, **more: Any) -> None:
        super().__init__(*args, **more)
        self.group = group
        self.is_rare = is_rare
        """Whether only `--help-all` shows the option."""


def grouped_option(
    group: Group, *names: str, is_rare: bool = False, **more: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the decorator that gives a command an option of a group."""
    return click.option(*names, cls=GroupedOption, group=group, is_rare=is_rare, **more)


class GroupedCommand(click.Command):
    """A command whose help shows its options in groups."""

    def __init__(self, *args: Any, shared_from: str | None = None, **more: Any) -> None:
        """`shared_from`: the command whose options this one takes too; its help refers to that command."""
        super().__init__(*args, **more)
        self._shared_from = shared_from
        self.params.append(
            click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_full_help,
                help="Show all options and exit.",
            )
        )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options group by group."""
        shows_all = ctx.meta.get(_SHOWS_ALL, False)
        n_hidden = 0
        records: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            if not isinstance(option, click.Option) or (record := option.get_help_record(ctx)) is None:
                continue
            if not shows_all and self._is_hidden(option):
                n_hidden += 1
                continue
            group = option.group if isinstance(option, GroupedOption) else "Other"
            records.setdefault(group, []).append(record)
        for group in get_args(Group):
            if group in records:
                with formatter.section(group):
                    formatter.write_dl(records[group])
        if n_hidden:
            formatter.write_paragraph()
            formatter.write_text(self._describe_hidden(ctx, n_hidden))

    def _is_hidden(self, option: click.Option) -> bool:
        if not isinstance(option, GroupedOption):
            return False
        return option.is_rare or self._shared_from is not None

    def _describe_hidden(self, ctx: click.Context, n_hidden: int) -> str:
        if self._shared_from is None:
            return f"{n_hidden} more options: {ctx.command_path} --help-all"
        return (
            f"Also accepts the {n_hidden} options of {self._shared_from} that describe the model, the data, "
            f"prompting, sampling and scoring: {ctx.command_path} --help-all"
        )


_SHOWS_ALL = "assay.shows_all_options"


def _show_full_help(ctx: click.Context, option: click.Parameter, is_asked: bool) -> None:
    if is_asked and not ctx.resilient_parsing:
        ctx.meta[_SHOWS_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()
