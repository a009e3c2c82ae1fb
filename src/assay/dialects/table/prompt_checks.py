"""Checks of a table's prompts against its rows and methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.errors import AuthorError, PlanError, Problem, Problems, listing
from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.setting_names import name_setting
from assay.dialects.shared.dialogue import Dialogue
from assay.dialects.shared.template import TemplateFailure, build_limit_problem, get_field, has_field
from assay.dialects.table.label_map import LabelMap
from assay.dialects.table.layout import FULL_QUESTION, OPTION_LIST, Layout, build_template_values
from assay.dialects.table.prompts import (
    ChatDialogue,
)
from assay.sources.source import Source


def check_prompts(
    source: Source,
    layout: Layout,
    filled: frozenset[str],
    dialogues: tuple[Dialogue, ...],
    *,
    faithful: bool,
) -> None:
    """Raise if rows lack a field that the prompt uses, or if a Jinja prompt fails.

    `filled`: columns with a value in every row, for which no row needs to be checked. The original leaves
    `{field}` unchanged if a row lacks the field; it has no Jinja.
    """
    if all(isinstance(one, ChatDialogue) for one in dialogues):
        return  # Conversations are checked while they are read.
    problems = Problems()
    different = tuple(dict.fromkeys(dialogues))
    plain = () if faithful else tuple(dialogue for dialogue in different if dialogue.is_plain)
    braces = sorted({name for dialogue in plain for name in dialogue.fields})
    has_jinja = not all(dialogue.is_plain for dialogue in different)
    # Computed fields always exist. Most rows have all other fields too, which the loop checks first.
    made = {OPTION_LIST} if layout.data_type == "mcq" else set()
    made |= {FULL_QUESTION} if layout.joins_question else set()
    wanted = [name for name in braces if name not in made]
    if not has_jinja and filled.issuperset(wanted):
        return
    for record in source.records():
        fields = record.fields
        if not has_jinja and all(fields.get(name) is not None for name in wanted):
            continue
        values = build_template_values(layout.sample(fields, record.origin, ""))
        for name in braces:
            if get_field(values, name, None) is None:
                seen = "is null" if has_field(values, name) else "is missing"
                problems.add(
                    Problem(
                        "TABLE-005",
                        f"the prompt uses {{{name}}}, which {seen} in this row",
                        "fill it in, or use a Jinja template with {% if ... %}",
                        record.origin,
                    )
                )
        if has_jinja and (trouble := _find_render_failure(different, values)) is not None:
            if trouble.is_limit:
                raise AuthorError(build_limit_problem("the prompt", str(trouble), record.origin))
            problems.add(
                Problem(
                    "TABLE-015",
                    f"the prompt cannot be rendered: {trouble}",
                    "correct the template, or guard it with {% if ... %}",
                    record.origin,
                )
            )
    problems.raise_if_any()


def _find_render_failure(
    dialogues: tuple[Dialogue, ...], values: Mapping[str, Any]
) -> TemplateFailure | None:
    try:
        for dialogue in dialogues:
            dialogue.render_opening(values, (), chat=False)
    except TemplateFailure as error:
        return error
    return None


def has_visible_options(dialogue: Dialogue, layout: Layout) -> bool:
    """Return whether a prompt shows the options."""
    shown = dialogue.fields
    if OPTION_LIST in shown:
        return True
    if isinstance(layout.options, str):
        return layout.options.split(".")[0] in {name.split(".")[0] for name in shown} or "A" in shown
    return bool(shown & {*layout.options, "A"})


def check_label_map(
    label_map: LabelMap, methods: tuple[Method, ...], where: Origin, *, is_chat: bool
) -> None:
    """Raise if the per-label prompts cannot be compared."""
    others = [method for method in methods if method != Method.PPL]
    if others:
        what = f"{name_setting('template')}: per-label templates need method ppl, not {listing(others)}"
        fix = 'use --method ppl ("infer_method": "ppl"), or write one template for all labels'
        raise PlanError(Problem("TABLE-006", what, fix, where))
    if is_chat and not label_map.differs_in_reply:
        what = f"{name_setting('template')}: per-label templates differ before the last turn, "
        what += "which a chat cannot score"
        fix = "move the differing text to the last turn, with role BOT, or send plain text with --chat off"
        raise PlanError(Problem("TABLE-006", what, fix, where))
