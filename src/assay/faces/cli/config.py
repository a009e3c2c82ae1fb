"""assay config"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from assay.faces.cli.completers import complete_setting
from assay.faces.cli.json_output import Answer, json_option
from assay.faces.cli.option_groups import GroupedCommand
from assay.faces.cli.options import build_settings, dataset_options

if TYPE_CHECKING:
    from assay.app.config_report import ConfigReport, ReportedSetting


@click.command(cls=GroupedCommand, shared_from="assay run")
@click.argument("names", nargs=-1, metavar="[SETTING]...", shell_complete=complete_setting)
@dataset_options
@json_option
def config(names: tuple[str, ...], is_json: bool, **flags: Any) -> Answer | None:
    """Show the settings that apply in this folder, each with its source.

    SETTING selects some of them; otherwise Assay shows all. The source is a flag, an environment variable, a
    profile, the assay.toml of the project or of the home folder, or the default.
    """
    from assay.app.config_report import report_config

    report = report_config(build_settings(flags), names)
    if is_json:
        from assay.faces.cli.answers import ConfigAnswer

        return Answer(ConfigAnswer(report))
    _show(report, has_names=bool(names))
    return None


def _show(report: ConfigReport, *, has_names: bool) -> None:
    from rich.markup import escape

    from assay.faces.cli.console import out
    from assay.faces.cli.tables import print_rows

    if not has_names:
        for file in report.files:
            state = "" if file.exists else " (does not exist)"
            out.print(f"{file.kind} file  {escape(file.path)}{state}", soft_wrap=True)
        profiles = [name for file in report.files for name in file.profiles]
        if profiles:
            out.print(f"profiles  {', '.join(dict.fromkeys(profiles))} (in use: {report.profile or 'none'})")
        out.print()
    rows = [[one.name, _format_value(one.value), _format_source(one)] for one in report.settings]
    print_rows(("setting", "value", "source"), rows, n_left=3, wrapping=(1,))
    for name, hint in report.unused_variables.items():
        out.print(f"[yellow]{escape(f'{name} has no effect: it is no setting {hint}'.strip())}[/]")


def _format_value(value: Any) -> str:
    import msgspec

    if value is None or value in ([], {}):
        return "-"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _format_source(setting: ReportedSetting) -> str:
    source = _SOURCES.get(setting.source, setting.source)
    return f"{source} ({setting.place})" if setting.place else source


_SOURCES = {"env": "environment", "file": "project file", "home": "home file"}
