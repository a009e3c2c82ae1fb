"""The prompts of a table: default prompts, custom prompts and round templates."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import msgspec

from assay.core.errors import AuthorError, Problem, listing, suggest_name
from assay.core.media import Text
from assay.core.origin import Origin
from assay.core.prompt import AFTER_TURN, Message, Prompt, Role
from assay.core.setting_names import name_setting
from assay.dialects.shared.dialogue import Dialogue, DialogueOpening, RoleMarks, TemplateTurn
from assay.dialects.shared.messages import to_message
from assay.dialects.shared.template import BraceTemplate, compile_template, get_field
from assay.dialects.table.label_map import LabelMap
from assay.dialects.table.layout import FULL_QUESTION, OPTION_LIST, Layout
from assay.dialects.table.meta import TableMeta

SPEAKERS: Mapping[Role, str] = {"system": "System", "user": "User", "assistant": "Assistant"}
CHAT_STOPS = ("\nUser:", "\nSystem:")
"""The texts with which a model that continues a text would begin the next turn."""


class ChatDialogue(Dialogue):
    """The conversation of a row, up to the reply. The options follow its last turn."""

    def __init__(
        self, column: str, answer_field: str, roots: Sequence[Path], marks: RoleMarks | None, *, options: bool
    ) -> None:
        shown = f"{{{column}}}{{{OPTION_LIST}}}" if options else f"{{{column}}}"
        super().__init__([TemplateTurn("user", BraceTemplate(shown))], answer_field, marks)
        self._column = column
        self._roots = tuple(roots)
        self._shows_options = options

    def render_after(self, examples: Prompt, values: Mapping[str, Any]) -> DialogueOpening:
        """Return the row's conversation up to the reply. Chat rows have no solved examples."""
        messages = [to_message(turn, self._roots) for turn in get_field(values, self._column)]
        if self._shows_options:
            messages[-1] = _append_text(messages[-1], f"\n{values[OPTION_LIST]}")
        if not isinstance(examples, str):
            history = tuple(messages)
            return DialogueOpening("", "", history, history, history)
        turns = [(message.role, message.display_text) for message in messages]
        if self._marks is not None:
            text = self._marks.begin + self._marks.text(turns) + self._marks.reply("")
            context = text.rstrip(" ")
            return DialogueOpening(context, text[len(context) :], None, context, text)
        text = "".join(f"{SPEAKERS[role]}: {content}{AFTER_TURN}" for role, content in turns)
        text += f"{SPEAKERS['assistant']}:"
        return DialogueOpening(text, " ", None, text, text)


def _append_text(message: Message, text: str) -> Message:
    if isinstance(message.content, str):
        return Message(message.role, message.content + text)
    return msgspec.structs.replace(message, content=(*message.content, Text(text)))


_ROLES: dict[str, Role] = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}
_SECTIONS = ("begin", "round", "end")
ALL_OPTIONS = "Several options may be right; name all of them."
_AISBENCH = "ais_bench.benchmark.openicl"


def make_dialogue(
    meta: TableMeta,
    layout: Layout,
    where: Origin,
    *,
    faithful: bool,
    hides_options: bool = False,
    asks_for_all: bool = False,
    marks: RoleMarks | None = None,
    drops_bare_text: bool = False,
) -> Dialogue:
    """Return the conversation of a table; raise if it names a field that does not exist.

    `asks_for_all`: the default prompt says that several options may be right. `drops_bare_text`: drop
    template texts outside turns.
    """
    answer = layout.answer_column or "answer"
    if meta.messages_column is not None:
        shows = layout.data_type == "mcq" and not hides_options
        return ChatDialogue(meta.messages_column, answer, [Path(where.path).parent], marks, options=shows)
    turns: list[tuple[Role, str]]
    keeps_end = meta.uses_one_text
    if meta.template is not None:
        turns = _template_turns(meta.template, where, drops_bare_text=drops_bare_text)
    elif keeps_end:
        turns = [("user", _build_aisbench_prompt(layout, hides_options))]
    else:
        human = meta.human_prompt
        if human is None:
            human = _default_human(layout, hides_options) + (f"\n{ALL_OPTIONS}" if asks_for_all else "")
        bot = meta.bot_prompt if meta.bot_prompt is not None else _default_bot(layout, answer)
        turns = [("user", human), ("assistant", bot)]
    return _dialogue(turns, meta, layout, where, faithful=faithful, marks=marks)


def is_label_map(template: str | dict[str, Any] | None) -> bool:
    """Whether a template is a mapping from labels to complete prompts."""
    return isinstance(template, dict) and bool(template) and not set(template) & set(_SECTIONS)


def make_label_map(
    meta: TableMeta,
    layout: Layout,
    where: Origin,
    *,
    faithful: bool,
    marks: RoleMarks | None = None,
    drops_bare_text: bool = False,
) -> LabelMap | None:
    """Return the conversation of each label, or None if the template has no per-label prompts."""
    template = meta.template
    wanted = layout.column_labels
    if layout.data_type != "mcq" or not isinstance(template, dict) or not is_label_map(template):
        return None
    if wanted and not set(wanted) & set(template):
        return None  # Reported later, as unknown sections.
    lacking = [label for label in wanted if label not in template]
    unknown = [label for label in template if wanted and label not in wanted]
    if lacking or unknown:
        missing = f"have no entry for {listing(lacking)}" if lacking else f"have {listing(unknown)}"
        raise _build_template_error(
            f"the per-label templates {missing}; the options are {listing(wanted)}"
            + (suggest_name(unknown[0], _SECTIONS) if unknown else ""),
            where,
        )
    written = {}
    for label, one in template.items():
        if not isinstance(one, str | dict) or is_label_map(one):
            raise _build_template_error(
                f"the entry for label {label!r} is {one!r:.60}, expected a text or turns", where
            )
        written[label] = _template_turns(one, where, drops_bare_text=drops_bare_text)
    every = list(written.values())
    if len(every) < 2 or any(one == other for at, one in enumerate(every) for other in every[:at]):
        raise _build_template_error(
            "per-label templates need at least two labels with different texts", where
        )
    dialogues = {
        label: _dialogue(turns, meta, layout, where, faithful=faithful, marks=marks)
        for label, turns in written.items()
    }
    differs_in_reply = all(turns[:-1] == every[0][:-1] and turns[-1][0] == "assistant" for turns in every)
    answer = layout.answer_column or "answer"
    return LabelMap(dialogues, answer, marks, differs_in_reply=differs_in_reply)


def _dialogue(
    turns: list[tuple[Role, str]],
    meta: TableMeta,
    layout: Layout,
    where: Origin,
    *,
    faithful: bool,
    marks: RoleMarks | None,
) -> Dialogue:
    answer = layout.answer_column or "answer"
    # `{answer}` refers to the answer column, unless a column named `answer` exists.
    if "answer" not in layout.columns:
        turns = [(role, text.replace("{answer}", "{" + answer + "}")) for role, text in turns]
    labels = _labels(meta, where)
    compiled = [
        compile_template(text, where, label, layout.columns)
        for label, (_, text) in zip(labels, turns, strict=False)
    ]
    made = [TemplateTurn(role, template) for (role, _), template in zip(turns, compiled, strict=True)]
    dialogue = Dialogue(made, answer, marks, keeps_end=meta.uses_one_text)
    _check_literals(dialogue, layout, where)
    # The original leaves an unknown field in the prompt unchanged.
    if not faithful:
        _check_fields(dialogue, layout, where)
    return dialogue


def _labels(meta: TableMeta, where: Origin) -> Iterator[str]:
    """Yield each turn's template name for error messages: its key, and its meta file."""
    place = f" of {Path(where.path).name}" if where.path.endswith(".json") else ""
    keys = cycle(("template",)) if meta.template is not None else iter(("human_prompt", "bot_prompt"))
    return (f"{key!r}{place}" for key in keys)


def _default_human(layout: Layout, hides_options: bool) -> str:
    if layout.joins_question:
        question = f"{{{FULL_QUESTION}}}"
    else:
        question = "\n".join("{" + name + "}" for name in layout.question_columns)
        if layout.data_type == "mcq":
            question = f"Question: {question}"
        context = ["{" + name + "}" for name in layout.context_columns]
        question = "\n\n".join([*context, question])
    # Do not repeat options that the question text already lists.
    shows_own = layout.data_type == "qa" or layout.options in layout.question_columns
    return question if shows_own or hides_options else f"{question}\n{{{OPTION_LIST}}}"


def _build_aisbench_prompt(layout: Layout, hides_options: bool) -> str:
    """Return AISBench's default prompt: one text that ends with the answer."""
    if layout.answer_column is None:
        return _default_human(layout, hides_options)
    question = "\n".join("{" + name + "}" for name in layout.question_columns)
    options = "" if layout.data_type == "qa" or hides_options else f"\n{{{OPTION_LIST}}}"
    return f"Question: {question}{options}\nAnswer: {{{layout.answer_column}}}"


def compute_prompt_version(meta: TableMeta, layout: Layout) -> str | None:
    """Return AISBench's version of its default prompt: a hash of the config it builds for a table."""
    if not meta.uses_one_text or layout.question_columns != ("question",):
        return None
    letters = layout.column_labels if layout.data_type == "mcq" else ()
    shown = [letter for letter in letters if letter in layout.columns]
    options = "".join(f"\n{letter}. {{{letter}}}" for letter in shown)
    answer = "{" + (layout.answer_column or "answer") + "}"
    template = {
        "template": f"Question: {{question}}{options}\nAnswer: {answer}",
        "type": f"{_AISBENCH}.icl_prompt_template.icl_prompt_template.PromptTemplate",
    }
    retriever = f"{_AISBENCH}.icl_retriever.icl_zero_retriever.ZeroRetriever"
    parts = {
        "inferencer": {"type": f"{_AISBENCH}.icl_inferencer.icl_gen_inferencer.GenInferencer"},
        "prompt_template": template,
        "retriever": {"prompt_template": template, "type": retriever},
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:6]


def _default_bot(layout: Layout, answer: str) -> str:
    return "{" + answer + "}" if layout.data_type == "qa" else "Answer: {" + answer + "}"


def has_bare_text(template: str | dict[str, Any] | None) -> bool:
    """Whether a template, or one of its per-label templates, has text outside its turns."""
    if not isinstance(template, dict):
        return False
    if is_label_map(template):
        return any(has_bare_text(one) for one in template.values())
    items = [template.get(section, []) for section in _SECTIONS]
    return any(
        isinstance(item, str)
        for section in items
        for item in (section if isinstance(section, list) else [section])
    )


def _template_turns(
    template: str | dict[str, Any], where: Origin, *, drops_bare_text: bool
) -> list[tuple[Role, str]]:
    if isinstance(template, str):
        return [("user", template)]
    unknown = [key for key in template if key not in _SECTIONS]
    if unknown or not template:
        raise _build_template_error(
            f"found the keys {listing(template)}, expected 'begin', 'round' and 'end', or only the option "
            f"labels{suggest_name(unknown[0], _SECTIONS) if unknown else ''}",
            where,
        )
    turns: list[tuple[Role, str]] = []
    for section in _SECTIONS:
        items = template.get(section, [])
        for item in items if isinstance(items, list) else [items]:
            if not (drops_bare_text and isinstance(item, str)):
                turns.append(_turn(item, section, where))
    if not turns:
        left_out = ", and a faithful chat drops text outside turns" if drops_bare_text else ""
        raise _build_template_error(f"it has no turns{left_out}", where)
    return turns


def _turn(item: Any, section: str, where: Origin) -> tuple[Role, str]:
    if isinstance(item, str):
        return "user", item
    if not isinstance(item, dict) or not isinstance(item.get("prompt", ""), str):
        raise _build_template_error(f"{section!r} contains {item!r}, expected a text or a turn", where)
    for key in item:
        if key not in ("role", "prompt", "fallback_role"):
            raise _build_template_error(f"a turn in {section!r} has the unknown key {key!r}", where)
    for key in ("role", "fallback_role"):
        role = item.get(key)
        if role in _ROLES:
            return _ROLES[role], item.get("prompt", "")
    role = item.get("role")
    raise _build_template_error(
        f"a turn in {section!r} has the unknown role {role!r}{suggest_name(str(role), _ROLES)}", where
    )


def _build_template_error(what: str, where: Origin) -> AuthorError:
    return AuthorError(
        Problem(
            "TABLE-006",
            f"{name_setting('template')}: {what}",
            'write a text, or {"round": [{"role": "HUMAN", "prompt": "..."}, '
            '{"role": "BOT", "prompt": "{answer}"}]}',
            where,
        )
    )


def _check_literals(dialogue: Dialogue, layout: Layout, where: Origin) -> None:
    """Raise if a Jinja template contains `{column}`, which Jinja would leave in the prompt unchanged."""
    for name in sorted(dialogue.literals & frozenset(_list_prompt_fields(layout))):
        raise AuthorError(
            Problem(
                "TABLE-005",
                f"the prompt is a Jinja template, where {{{name}}} is plain text, not the column {name!r}",
                f"write {{{{ {name} }}}}; for literal braces write {{{{ '{{{name}}}' }}}}",
                where,
            )
        )


def _list_prompt_fields(layout: Layout) -> list[str]:
    own = [OPTION_LIST, *_label_fields(layout)] if layout.data_type == "mcq" else []
    joined = [FULL_QUESTION] if layout.joins_question else []
    return [*layout.columns, *own, *joined]


def _check_fields(dialogue: Dialogue, layout: Layout, where: Origin) -> None:
    known = _list_prompt_fields(layout)
    for name in sorted(dialogue.fields):
        if name not in known and name.split(".")[0] not in known:
            raise AuthorError(
                Problem(
                    "TABLE-005",
                    f"the prompt uses {{{name}}}, but there is no such column{suggest_name(name, known)}; "
                    f"the columns are {listing(layout.columns)}",
                    "correct the name; for literal braces use Jinja: {{ '{" + name + "}' }}",
                    where,
                )
            )


def _label_fields(layout: Layout) -> tuple[str, ...]:
    own = layout.option_labels if isinstance(layout.option_labels, tuple) else ()
    return (*own, *ascii_uppercase)
