"""The differences between the original's prompts and Assay's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from assay.core.difference import Difference
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
    prompt = pair.prompt_layout
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


TEMPLATE_DIFFERENCES: Mapping[str, Difference[TemplateTraits]] = {
    "filled_once": Difference(
        "columns are replaced one after the other in the whole prompt, so a `{column}` inside a value or an "
        "example is replaced too",
        "each placeholder of the template is replaced once; values and examples are not changed",
        lambda traits: traits.has_holes,
    ),
    "raw_gold": Difference(
        "a RawPromptTemplate that names the output column shows the right answer",
        "the output column is left empty, as in a PromptTemplate",
        lambda traits: traits.is_raw and traits.shows_answer_column and not traits.is_labelled,
    ),
    "raw_labels": Difference(
        "when labels are compared, a RawPromptTemplate shows no examples, and the right answer with every "
        "label",
        "examples are shown, and the output column contains the label",
        lambda traits: traits.is_raw and traits.is_labelled,
    ),
    "raw_text": Difference(
        "a RawPromptTemplate does not work with a model that reads plain text",
        "its messages become the turns HUMAN, BOT and SYSTEM",
        lambda traits: traits.is_raw and not traits.is_chat,
        is_reproduced=False,
    ),
    "labels_of_one_template": Difference(
        "without a template for each label, every label is shown with the right answer, so all labels are "
        "equal",
        "the output column contains the label",
        lambda traits: traits.is_labelled and traits.shows_answer_column and not traits.has_label_map,
    ),
    "right_answer_in_label_maps": Difference(
        "a label's template that names the output column shows the right answer with every label",
        "the output column is left empty",
        lambda traits: traits.is_labelled and traits.shows_answer_column and traits.has_label_map,
    ),
    "local_chat": Difference(
        "a local chat model gets a line break after every user turn, and system texts as user turns",
        "no line break is added, and system texts are system messages",
        lambda traits: (
            traits.is_chat
            and not (traits.has_meta or traits.joins_turns)
            and traits.is_dialogue
            and traits.is_system_the_users
        ),
    ),
    "service_without_roles": Difference(
        "if the config of a service has no meta_template, OpenCompass sends all turns, including the start "
        "of the answer, as one user message",
        "each turn is a message with its own role, and the model starts its own answer",
        lambda traits: traits.is_chat and traits.joins_turns and not traits.has_meta and traits.is_dialogue,
    ),
    "system_in_round": Difference(
        "in a chat, SYSTEM within a round is followed by an empty answer or lost; a meta template for text "
        "rejects it",
        "it becomes a separate turn before the round",
        lambda traits: traits.has_system_in_round and (traits.is_chat or traits.has_meta),
        faithful="as the original in a chat; as corrected in a text",
    ),
    "bare_text": Difference(
        "texts outside the turns are omitted from a chat",
        "they are user turns",
        lambda traits: traits.is_chat and traits.has_bare_texts,
    ),
    "empty_first_line": Difference(
        "without examples, their placeholder leaves an empty line at the beginning",
        "the empty line is removed",
        lambda traits: traits.begins_with_examples and not traits.is_chat and not traits.has_meta,
    ),
    "end_of_no_examples": Difference(
        "the text after the last example is shown even if there are no examples",
        "it is shown only with examples",
        lambda traits: traits.has_separator,
    ),
    "sep_token": Difference(
        "examples show the separator token",
        "the separator token is never shown",
        lambda traits: traits.has_sep_token,
        is_reproduced=False,
    ),
    "end_section": Difference(
        "a dialogue with an `end` does not work with a meta template",
        "`end` follows the rounds",
        lambda traits: traits.has_end and traits.has_meta,
        is_reproduced=False,
    ),
    "turns_of_two_columns": Difference(
        "turns are read from the columns `question` and `answer`, up to the length of the shorter list",
        "turns are read from the columns that the round names; lists of different lengths are an error, and "
        "an empty list of answers means no answers",
        lambda traits: traits.is_multi_turn,
    ),
}
"""All differences, for the table in the documentation."""
