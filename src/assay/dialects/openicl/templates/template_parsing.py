"""Parsing of a config's template arguments to a layout, with all faults collected.

`TEMPLATE_MAKERS` lists the kinds of templates; add a new kind there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, TypeGuard

from assay.core.errors import listing, suggest_name
from assay.core.prompt import Message
from assay.dialects.openicl.templates.dialogue_turns import Section
from assay.dialects.openicl.templates.layouts import (
    DialogueLayout,
    StringLayout,
    TemplateItem,
    build_bare_item,
)
from assay.dialects.openicl.templates.multi_turn import MultiTurnLayout
from assay.dialects.openicl.templates.raw import read_raw_layout
from assay.dialects.openicl.templates.template_problems import TemplateFault, describe_value
from assay.dialects.openicl.templates.text import Row, TemplateMarks, TemplateText

SECTIONS: tuple[Section, ...] = ("begin", "round", "end")
_ITEM_KEYS = ("role", "prompt", "fallback_role")


class TemplateSpec(NamedTuple):
    """A template as given in a config."""

    name: str
    """The name of its class."""
    arguments: Mapping[str, Any]


class MessagesLayout(Protocol):
    """A template of messages."""

    format: ClassVar[str]
    items: tuple[TemplateItem, ...]
    """The texts of its messages."""
    has_examples: bool
    """Whether it has a place for examples."""

    def messages(self, row: Row, examples: Sequence[Message]) -> tuple[Message, ...]:
        """Return the messages of a row."""

    def faults(self, columns: Sequence[str]) -> Iterator[TemplateFault]:
        """Yield faults for missing columns, except in its texts."""


TextLayout: TypeAlias = StringLayout | DialogueLayout
LabelLayouts: TypeAlias = dict[Any, TextLayout]
"""The prompt for each label, as if it were the right answer."""
TemplateLayout: TypeAlias = StringLayout | DialogueLayout | MultiTurnLayout | MessagesLayout | LabelLayouts


class TemplatePair(NamedTuple):
    """The two templates of a dataset."""

    prompt: TemplateLayout | None
    ice: TemplateLayout | None
    is_ice_alone: bool
    """Whether the ice template is also the prompt's template."""

    @property
    def prompt_layout(self) -> TemplateLayout | None:
        """Return the template of the prompt."""
        return self.ice if self.is_ice_alone else self.prompt


LayoutMaker: TypeAlias = Callable[[Mapping[str, Any], bool, list[TemplateFault]], TemplateLayout | None]
"""Takes the arguments, `is_faithful` and the list for faults; returns None if there are faults."""


def read_template(
    spec: TemplateSpec, *, is_faithful: bool, faults: list[TemplateFault]
) -> TemplateLayout | None:
    """Read a template; add faults and return None if it is invalid."""
    kind = TEMPLATE_MAKERS.get(spec.name)
    if kind is None:
        what = f"there is no template {spec.name!r}{suggest_name(spec.name, TEMPLATE_MAKERS)}"
        faults.append(TemplateFault(what, f"use one of {listing(TEMPLATE_MAKERS)}"))
        return None
    known, make = kind
    before = len(faults)
    for key in spec.arguments:
        if key not in known:
            what = f"{spec.name} has the unknown argument {key!r}{suggest_name(str(key), known)}"
            faults.append(TemplateFault(what, f"supported: {listing(known)}"))
    read = make(spec.arguments, is_faithful, faults)
    return read if len(faults) == before else None


def _prompt_template(
    given: Mapping[str, Any], is_faithful: bool, faults: list[TemplateFault]
) -> TemplateLayout | None:
    marks = _marks(given, is_faithful, faults)
    template = given.get("template")
    if isinstance(template, str):
        return _parse_string(template, marks, "the template", faults)
    if isinstance(template, Mapping) and template:
        if all(key in SECTIONS for key in template):
            return _dialogue(template, marks, "the template", faults)
        return _label_map(template, marks, faults)
    what = (
        f"the template is {describe_value(template)}, expected a text, a dialogue or an entry for each label"
    )
    faults.append(TemplateFault(what, "write template='...' or template=dict(round=[...])"))
    return None


def _multi_turn(
    given: Mapping[str, Any], is_faithful: bool, faults: list[TemplateFault]
) -> TemplateLayout | None:
    template = given.get("template")
    if not isinstance(template, Mapping):
        what = f"the template is {describe_value(template)}, expected a dialogue of one round"
        faults.append(
            TemplateFault(what, "write template=dict(round=[dict(role='HUMAN', ...), dict(role='BOT', ...)])")
        )
        return None
    dialogue = _dialogue(template, TemplateMarks(is_faithful=is_faithful), "the template", faults)
    if not any(item.role != "BOT" for item in dialogue.items if item.section == "round"):
        faults.append(
            TemplateFault("the round has no user turn", "write dict(role='HUMAN', prompt='{question}')")
        )
    return MultiTurnLayout(dialogue.items, is_faithful=is_faithful)


TEMPLATE_MAKERS: dict[str, tuple[tuple[str, ...], LayoutMaker]] = {
    "PromptTemplate": (("template", "ice_token", "sep_token", "column_token_map"), _prompt_template),
    "RawPromptTemplate": (("messages", "format_variables", "ice_token"), read_raw_layout),
    "MultiTurnPromptTemplate": (("template",), _multi_turn),
}
"""Every kind of template: its arguments, and the function that builds its layout."""


def _marks(given: Mapping[str, Any], is_faithful: bool, faults: list[TemplateFault]) -> TemplateMarks:
    found: dict[str, str | None] = {}
    for key in ("ice_token", "sep_token"):
        value = given.get(key)
        if not isinstance(value, str | None):
            faults.append(
                TemplateFault(f"{key} is {describe_value(value)}, expected a text", f"write {key}='</E>'")
            )
            value = None
        found[key] = value or None
    tokens = given.get("column_token_map")
    if tokens is not None and not _is_token_map(tokens):
        what = f"column_token_map is {describe_value(tokens)}, expected a dict of column to token"
        faults.append(TemplateFault(what, "write column_token_map={'question': '</Q>'}"))
        tokens = None
    return TemplateMarks(found["ice_token"], found["sep_token"], tokens, is_faithful)


def _is_token_map(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(column, str) and isinstance(token, str) and token for column, token in value.items()
    )


def _parse_string(raw: str, marks: TemplateMarks, place: str, faults: list[TemplateFault]) -> StringLayout:
    if marks.ice_token and marks.ice_token not in raw:
        what = f"the ice_token {marks.ice_token!r} is missing from {place}"
        faults.append(
            TemplateFault(what, f"write {marks.ice_token} where the examples belong, or remove ice_token")
        )
    return StringLayout(raw, marks)


def _label_map(given: Mapping[Any, Any], marks: TemplateMarks, faults: list[TemplateFault]) -> LabelLayouts:
    found: LabelLayouts = {}
    for label, entry in given.items():
        place = f"the template of label {label!r}"
        if isinstance(entry, str):
            found[label] = _parse_string(entry, marks, place, faults)
        elif isinstance(entry, Mapping):
            found[label] = _dialogue(entry, marks, place, faults)
        else:
            near = suggest_name(label, SECTIONS) if isinstance(label, str) else ""
            what = f"{place} is {describe_value(entry)}, expected a text or a dialogue{near}"
            faults.append(TemplateFault(what, "write a text, or dict(round=[...])"))
    return found


def _dialogue(
    given: Mapping[str, Any], marks: TemplateMarks, place: str, faults: list[TemplateFault]
) -> DialogueLayout:
    for key in given:
        if key not in SECTIONS:
            what = f"{place} has the unknown key {key!r}{suggest_name(str(key), SECTIONS)}"
            faults.append(TemplateFault(what, f"supported: {listing(SECTIONS)}"))
    if "round" not in given:
        faults.append(
            TemplateFault(f"{place} has no 'round'", "write round=[dict(role='HUMAN', prompt='...')]")
        )
    items: list[TemplateItem] = []
    for section in SECTIONS:
        entries = given.get(section, [])
        if isinstance(entries, str | Mapping) and section != "round":
            entries = [entries]
        if not isinstance(entries, list | tuple):
            what = f"{section} of {place} is {describe_value(entries)}, expected a list"
            faults.append(TemplateFault(what, f"write {section}=[dict(role='HUMAN', prompt='...')]"))
            continue
        for at, entry in enumerate(entries):
            item = _item(entry, marks, section, f"{section}[{at}] of {place}", faults)
            if item is not None:
                items.append(item)
    return DialogueLayout(items, marks)


def _item(
    entry: object, marks: TemplateMarks, section: Section, place: str, faults: list[TemplateFault]
) -> TemplateItem | None:
    if isinstance(entry, str):
        return build_bare_item(entry, marks, section)
    if not isinstance(entry, Mapping):
        what = f"{place} is {describe_value(entry)}, expected a dict with a role and a prompt, or a text"
        faults.append(TemplateFault(what, "write dict(role='HUMAN', prompt='...')"))
        return None
    for key in entry:
        if key not in _ITEM_KEYS:
            what = f"{place} has the unknown key {key!r}{suggest_name(str(key), _ITEM_KEYS)}"
            faults.append(TemplateFault(what, f"supported: {listing(_ITEM_KEYS)}"))
    role, prompt, fallback = (entry.get(key) for key in _ITEM_KEYS)
    if not isinstance(role, str) or not role:
        faults.append(
            TemplateFault(
                f"the role of {place} is {describe_value(role)}, expected a text", "write role='HUMAN'"
            )
        )
        return None
    if not isinstance(prompt, str | None) or not isinstance(fallback, str | None):
        wrong = "fallback_role" if isinstance(prompt, str | None) else "prompt"
        what = f"{wrong} of {place} is {describe_value(entry[wrong])}, expected a text"
        faults.append(TemplateFault(what, f"write {wrong}='...'"))
        return None
    return TemplateItem(role, fallback, TemplateText(prompt or "", marks), section)


def list_layouts(read: TemplateLayout | None) -> list[TextLayout]:
    """Return the layouts of a template: one, or one per label."""
    if isinstance(read, dict):
        return list(read.values())
    return [read] if isinstance(read, StringLayout | DialogueLayout) else []


def list_items(read: TemplateLayout | None) -> list[TemplateItem]:
    """Return the items of a template, including those of all labels."""
    if isinstance(read, dict):
        return [item for layout in read.values() for item in layout.items]
    return [] if read is None else list(read.items)


def has_turns(read: TemplateLayout | None) -> bool:
    """Whether a template is a dialogue, or has dialogues as per-label templates."""
    return any(isinstance(layout, DialogueLayout) for layout in list_layouts(read))


def is_messages_layout(read: TemplateLayout | None) -> TypeGuard[MessagesLayout]:
    """Whether a template consists of messages."""
    return not isinstance(read, StringLayout | DialogueLayout | MultiTurnLayout | dict | None)
