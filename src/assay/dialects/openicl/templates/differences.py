"""The differences between the original's prompts and Assay's."""

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
from assay.dialects.shared.differences import Difference


class TemplateTraits(NamedTuple):
    """The traits of a task's templates and model that determine which differences can affect it."""

    is_chat: bool
    has_meta: bool
    """Whether the model's config has a meta template."""
    is_system_the_users: bool
    """Whether the original sends system texts as user turns to local chat models."""
    joins_turns: bool
    """Whether the original sends all turns to a chat service as one text."""
    is_labelled: bool
    """Whether labels are compared instead of generating an answer."""
    has_label_map: bool
    is_dialogue: bool
    is_raw: bool
    is_multi_turn: bool
    has_holes: bool
    shows_answer_column: bool
    """Whether the prompt's template has a placeholder for the right answer."""
    has_system_in_round: bool
    has_bare_texts: bool
    """Whether the template has text outside the turns."""
    begins_with_examples: bool
    has_separator: bool
    """Whether there are separators between examples or after the last."""
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
    """Return the traits of templates, given whether the retriever has separators."""
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


TEMPLATE_DIFFERENCES: tuple[Difference[TemplateTraits], ...] = (
    Difference(
        "filled_once",
        lambda traits: traits.has_holes,
        "columns are replaced one after the other in the whole prompt, so a value or an example that holds "
        "`{column}` is filled as well",
        "every hole of the template is filled once; values and examples are shown as they are",
    ),
    Difference(
        "raw_gold",
        lambda traits: traits.is_raw and traits.shows_answer_column and not traits.is_labelled,
        "a RawPromptTemplate shows the right answer where it names the output column",
        "the output column is left empty, as in a PromptTemplate",
    ),
    Difference(
        "raw_labels",
        lambda traits: traits.is_raw and traits.is_labelled,
        "a RawPromptTemplate shows no examples and every label the right answer when labels are compared",
        "examples are shown, and the label stands in the output column",
    ),
    Difference(
        "raw_text",
        lambda traits: traits.is_raw and not traits.is_chat,
        "a RawPromptTemplate cannot be shown to a model that reads text",
        "its messages are turns: HUMAN, BOT and SYSTEM",
        is_reproduced=False,
    ),
    Difference(
        "labels_of_one_template",
        lambda traits: traits.is_labelled and traits.shows_answer_column and not traits.has_label_map,
        "without a template for each label, every label is shown with the right answer: all are equal",
        "the label stands in the output column",
    ),
    Difference(
        "right_answer_in_label_maps",
        lambda traits: traits.is_labelled and traits.shows_answer_column and traits.has_label_map,
        "a label's template that names the output column shows the right answer with every label",
        "the output column is left empty",
    ),
    Difference(
        "local_chat",
        lambda traits: (
            traits.is_chat
            and not (traits.has_meta or traits.joins_turns)
            and traits.is_dialogue
            and traits.is_system_the_users
        ),
        "a chat model that runs locally gets a line break behind every user's turn, and what the system says "
        "as the user's words",
        "no line break is added, and the system speaks for itself",
    ),
    Difference(
        "service_without_roles",
        lambda traits: traits.is_chat and traits.joins_turns and not traits.has_meta and traits.is_dialogue,
        "OpenCompass sends all turns as one message of the user to a service whose config has no "
        "meta_template, the begun answer included",
        "each turn is a message of its role, and the model begins its own answer",
    ),
    Difference(
        "system_in_round",
        lambda traits: traits.has_system_in_round and (traits.is_chat or traits.has_meta),
        "SYSTEM within a round is followed by an empty answer or lost in a chat, and refused by a meta "
        "template for text",
        "it is a turn of its own, before the round",
        faithful="as the original in a chat; as corrected in a text",
    ),
    Difference(
        "bare_text",
        lambda traits: traits.is_chat and traits.has_bare_texts,
        "texts outside the turns are left out of a chat",
        "the user says them",
    ),
    Difference(
        "empty_first_line",
        lambda traits: traits.begins_with_examples and not traits.is_chat and not traits.has_meta,
        "without examples, their place leaves an empty line at the beginning",
        "nothing is left",
    ),
    Difference(
        "end_of_no_examples",
        lambda traits: traits.has_separator,
        "the text behind the last example is shown even if no example is left",
        "it is shown with examples only",
    ),
    Difference(
        "sep_token",
        lambda traits: traits.has_sep_token,
        "the separator token is shown in examples",
        "it is never shown",
        is_reproduced=False,
    ),
    Difference(
        "end_section",
        lambda traits: traits.has_end and traits.has_meta,
        "a dialogue with an `end` cannot be shown to a model with a meta template",
        "it stands behind the rounds",
        is_reproduced=False,
    ),
    Difference(
        "turns_of_two_columns",
        lambda traits: traits.is_multi_turn,
        "turns are read from the columns `question` and `answer`, and as many as the shorter has",
        "turns are read from the columns that the round names; lists of different lengths are an error, and "
        "an empty list of answers is none",
    ),
)
"""All differences, for the table in the documentation."""
