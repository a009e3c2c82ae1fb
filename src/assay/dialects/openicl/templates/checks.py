"""Checks of templates against the columns of the rows and the model, before the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.core.errors import listing, suggest_name
from assay.dialects.openicl.templates.dialogue_turns import find_role
from assay.dialects.openicl.templates.layouts import StringLayout, TemplateItem
from assay.dialects.openicl.templates.meta import CHAT_ROLES, MetaTemplate
from assay.dialects.openicl.templates.multi_turn import MultiTurnLayout
from assay.dialects.openicl.templates.rendering import RenderOptions
from assay.dialects.openicl.templates.template_parsing import (
    TemplatePair,
    TextLayout,
    has_turns,
    is_messages_layout,
    list_items,
    list_layouts,
)
from assay.dialects.openicl.templates.template_problems import TemplateFault


def find_faults(
    pair: TemplatePair, rendering: RenderOptions, of_rows: Sequence[str], of_examples: Sequence[str]
) -> Iterator[TemplateFault]:
    """Yield faults for placeholders without a column and for roles that the model does not have."""
    meta = rendering.meta
    templates = (("prompt_template", pair.prompt, of_rows), ("ice_template", pair.ice, of_examples))
    for of, read, columns in templates:
        for item in list_items(read):
            yield from item.text.faults(columns, of)
            if meta is not None and not meta.messages:
                yield from _role_faults(item, of, meta)
        if is_messages_layout(read):
            yield from read.faults(columns)
    if meta is not None and rendering.is_chat:
        yield from _chat_faults(meta)
    elif meta is not None and meta.messages:
        what = "the model reads text, but its meta template consists of messages"
        yield TemplateFault(what, "write meta_template=dict(round=[...])")


def find_example_faults(pair: TemplatePair, rendering: RenderOptions) -> Iterator[TemplateFault]:
    """Yield the reasons why retrieved examples cannot be shown."""
    prompt, ice = pair.prompt_layout, pair.ice
    of = "ice_template" if pair.is_ice_alone else "prompt_template"
    if ice is None:
        yield TemplateFault(
            "examples are retrieved, but there is no ice_template", "write one, or use ZeroRetriever"
        )
    elif isinstance(prompt, MultiTurnLayout) or isinstance(ice, MultiTurnLayout):
        yield TemplateFault("a multi-turn template does not support examples", "use ZeroRetriever")
    elif is_messages_layout(prompt) != is_messages_layout(ice):
        what = "one of prompt_template and ice_template consists of messages, the other does not"
        yield TemplateFault(what, "write both as RawPromptTemplate, or both as PromptTemplate")
    elif is_messages_layout(prompt):
        if not prompt.has_examples and not rendering.is_faithful:
            yield _build_place_fault(of, "write '</E>' between the messages")
    else:
        for layout in list_layouts(prompt):
            yield from _place_faults(
                layout, of, makes_turns=has_turns(ice), is_faithful=rendering.is_faithful
            )


def _place_faults(
    layout: TextLayout, of: str, *, makes_turns: bool, is_faithful: bool
) -> Iterator[TemplateFault]:
    is_placed = any(item.text.has_examples for item in layout.items)
    # The original drops the examples of a dialogue without a place for them.
    if not is_placed and (isinstance(layout, StringLayout) or not is_faithful):
        yield _build_place_fault(of, "write ice_token='</E>', and </E> at the position of the examples")
    elif is_placed and makes_turns and not any(item.parts for item in layout.items):
        what = f"{of} has the examples inside a text, but the ice_template renders them as turns"
        yield TemplateFault(what, "write the ice_token as a separate text, such as begin=['</E>']")


def _build_place_fault(of: str, fix: str) -> TemplateFault:
    return TemplateFault(f"{of} has no place for the retrieved examples", fix)


def _role_faults(item: TemplateItem, of: str, meta: MetaTemplate) -> Iterator[TemplateFault]:
    if item.role is None or find_role(item.role, item.fallback, meta.roles) is not None:
        return
    what = f"{of} has the role {item.role!r}, which the model's meta template does not have"
    fix = f"use one of {listing(meta.roles)}, or add fallback_role='HUMAN'"
    yield TemplateFault(f"{what}{suggest_name(item.role, meta.roles)}", fix)


def _chat_faults(meta: MetaTemplate) -> Iterator[TemplateFault]:
    for role in meta.roles.values():
        if role.api_role not in CHAT_ROLES:
            what = f"the meta template of the chat model has no api_role for {role.role!r}"
            yield TemplateFault(what, f"write api_role=..., one of {listing(CHAT_ROLES)}")
    if meta.begin or any(isinstance(one, str) for one in meta.round):
        what = "the meta template of the chat model has texts without a role"
        yield TemplateFault(
            what, "write begin=dict(role='SYSTEM', api_role='SYSTEM', prompt='...'), or no begin"
        )
