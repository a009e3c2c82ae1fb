"""The command `assay`. A command's module is imported when the command is used, so that help is quick."""

from __future__ import annotations

import sys
from importlib import import_module

import click

_COMMANDS = {
    "run": ("assay.faces.cli.run:run", "Evaluate a model on one or more datasets."),
    "check": ("assay.faces.cli.check:check", "Find out everything about a dataset that needs no model."),
    "report": ("assay.faces.cli.show:report", "Print a run's report."),
    "explain": (
        "assay.faces.cli.explain:explain",
        "Show one sample in full: prompt, tokens, numbers, rules.",
    ),
    "ls": ("assay.faces.cli.show:ls", "List the runs."),
    "as": ("assay.faces.cli.opencompass:other_systems", "Use the command line of another system."),
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from assay.core.errors import nearest

            wrong = f"there is no command {args[0]!r}{nearest(args[0], _COMMANDS)}"
            raise click.UsageError(wrong, ctx) from error


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="assay-eval", prog_name="assay")
def cli() -> None:
    """Assay tells you what a language model scores on your own dataset.

    assay run data.csv            the embedded SmolLM2 answers, one table comes out
    """


def main() -> None:
    """Run the command line; what a person can mend is said without a traceback."""
    try:
        status = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("\nStopped. The same command goes on from here.", err=True)
        sys.exit(130)
    except Exception as error:
        from assay.core.errors import AssayError

        if not isinstance(error, AssayError):
            raise
        from assay.faces.cli.render import show_error

        show_error(error)
        sys.exit(2)
    sys.exit(status if isinstance(status, int) else 0)
