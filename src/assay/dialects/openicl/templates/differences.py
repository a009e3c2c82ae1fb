"""Where the original's prompts and Assay's differ."""

from __future__ import annotations

from assay.dialects.openicl.templates.template_features import TemplateTraits
from assay.dialects.shared.differences import Difference

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
"""All of them, for the dialect's table."""
