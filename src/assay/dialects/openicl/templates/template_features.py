"""What of a dataset's templates decides where the original and Assay differ."""

from __future__ import annotations

from typing import NamedTuple

from assay.dialects.openicl.templates.layouts import TemplateItem
from assay.dialects.openicl.templates.meta import CHAT_META_TEMPLATE
from assay.dialects.openicl.templates.multi_turn import MultiTurnLayout
from assay.dialects.openicl.templates.rendering import RenderOptions
from assay.dialects.openicl.templates.template_parsing import (
    TemplatePair,
    has_turns,
    is_messages_layout,
    list_items,
)


class TemplateTraits(NamedTuple):
    """What is known of the templates of a task, and of the model."""

    is_chat: bool
    has_meta: bool
    """Whether the model's config has a meta template."""
    is_system_the_users: bool
    """Whether the original lets the user say what the system should, to chat models that run locally."""
    joins_turns: bool
    """Whether the original sends the turns to a chat service as one text."""
    is_labelled: bool
    """Whether labels are compared, and not an answer generated."""
    has_label_map: bool
    is_dialogue: bool
    is_raw: bool
    is_multi_turn: bool
    has_holes: bool
    shows_answer_column: bool
    """Whether the prompt's template has a hole for the right answer."""
    has_system_in_round: bool
    has_bare_texts: bool
    """Whether words stand outside the turns."""
    begins_with_examples: bool
    has_separator: bool
    """Whether examples are joined with texts, or ended by one."""
    has_sep_token: bool
    has_end: bool


def find_template_traits(
    pair: TemplatePair,
    rendering: RenderOptions,
    *,
    output_column: str | None,
    is_labelled: bool,
    is_joined: bool,
) -> TemplateTraits:
    """Return the traits of templates, given whether the retriever puts texts between examples."""
    prompt = pair.shown
    items = list_items(prompt)
    both = [*items, *list_items(pair.ice)]
    is_dialogue = has_turns(prompt)
    return TemplateTraits(
        is_chat=rendering.is_chat,
        has_meta=rendering.meta is not None,
        is_system_the_users=rendering.local_chat != CHAT_META_TEMPLATE,
        joins_turns=rendering.joins_turns,
        is_labelled=is_labelled,
        has_label_map=isinstance(prompt, dict),
        is_dialogue=is_dialogue or isinstance(prompt, MultiTurnLayout),
        is_raw=is_messages_layout(prompt),
        is_multi_turn=isinstance(prompt, MultiTurnLayout),
        has_holes=any(item.text.columns for item in both),
        shows_answer_column=any(output_column in item.text.columns for item in items),
        has_system_in_round=any(_is_system(item) and item.section == "round" for item in items),
        has_bare_texts=is_dialogue and any(item.role is None and _has_words(item) for item in items),
        begins_with_examples=is_dialogue and bool(items) and bool(items[0].parts),
        has_separator=is_joined
        and not _is_one_dialogue(pair)
        and any(one.text.has_examples for one in items),
        has_sep_token=any(item.text.separated_at >= 0 for item in both),
        has_end=any(item.section == "end" for item in items),
    )


def _is_system(item: TemplateItem) -> bool:
    return (item.role or "").upper() == "SYSTEM"


def _has_words(item: TemplateItem) -> bool:
    return any(part is not None and part.raw.strip() for part in item.parts or (item.text,))


def _is_one_dialogue(pair: TemplatePair) -> bool:
    return has_turns(pair.ice) and not isinstance(pair.ice, dict)
