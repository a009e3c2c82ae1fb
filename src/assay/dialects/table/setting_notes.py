"""Notes on settings that have no or limited effect on a table."""

from __future__ import annotations

from assay.core.errors import listing
from assay.core.method import Method
from assay.core.setting_names import list_settings, name_setting
from assay.core.task import TaskSettings
from assay.dialects.table.layout import Layout
from assay.dialects.table.meta import SeveralRight, TableMeta


def list_matching_notes(
    meta: TableMeta,
    layout: Layout,
    methods: tuple[Method, ...],
    several_right: SeveralRight | None,
    *,
    is_faithful: bool,
) -> list[str]:
    """Return notes on `match` and `several_right` settings that have no or limited effect."""
    notes = []
    if meta.match is not None and (is_faithful or layout.data_type != "qa"):
        why = "faithful runs compare literally" if is_faithful else f"the table is {layout.data_type}"
        notes.append(f"{name_setting('match')} applies only to free-form answers: {why}")
    if meta.several_right is not None and several_right is None:
        why = "faithful runs count any right option" if is_faithful else "no row has several right options"
        notes.append(f"{name_setting('several_right')} has no effect: {why}")
    others = [method for method in methods if method != Method.GEN]
    if several_right == "exact" and others:
        notes.append(f"{listing(others)} can choose only one option: any of several right options counts")
    return notes


def list_repeat_notes(settings: TaskSettings, methods: tuple[Method, ...]) -> list[str]:
    """Return notes on several answers per row that have no effect."""
    n = settings.samples or 1
    if n == 1:
        return []
    if Method.GEN not in methods:
        return [f"{n} answers per row are requested, which has no effect on {listing(methods)}"]
    if not settings.temperature:
        return [f"{n} answers per row are requested at temperature 0: they will all be the same"]
    return []


def list_ignored_settings(meta: TableMeta, layout: Layout, settings: TaskSettings) -> list[str]:
    """Return notes on window and length settings that have no effect."""
    notes = []
    given = [name for name in ("windows", "window_tokens", "stride") if getattr(meta, name) is not None]
    if given:
        notes.append(
            f"{list_settings(given)} apply to plain texts, not to a {layout.data_type} table; ignored"
        )
    if layout.length_column is not None and (settings.max_tokens or meta.max_tokens):
        where = name_setting("output_config") if meta.output_config else f"column {layout.length_column!r}"
        notes.append(
            f"{where} sets the answer length; {name_setting('max_tokens')} applies only to rows without one"
        )
    return notes
