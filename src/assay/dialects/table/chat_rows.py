"""Tables with a column of conversations: which column, what is asked, and what the right answer is.

All turns before the reply are the prompt, as they are. The reply is the last assistant turn, or the answer
column where the table has one.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import AuthorError, Problem, listing, suggest_name
from assay.core.origin import Origin
from assay.core.prompt import Message
from assay.dialects.shared.choices import read_option_list
from assay.dialects.shared.messages import (
    BadConversation,
    ConversationTurn,
    UnsupportedConversation,
    find_unsent_keys,
    get_turn_text,
    is_conversation,
    is_plain_text,
    is_text_list,
    parse_value,
    read_turns,
    to_message,
)
from assay.dialects.shared.template import get_field
from assay.dialects.table.column_words import suggest_role
from assay.dialects.table.meta import TableMeta
from assay.dialects.table.readings import AmbiguousTableError, Reading
from assay.dialects.table.row_adapters import AdaptedSource, RowProblem
from assay.sources.record import Record
from assay.sources.source import Source

CHAT_ANSWER_NAMES = frozenset(
    {
        *("answer", "answers", "target", "targets", "expected", "expected_output", "expected_answer"),
        *("ideal", "reference", "reference_answer", "gold", "gold_answer", "ground_truth", "completion"),
        *("response", "output", "label", "correct_answer", "solution", "정답", "答案"),
    }
)
"""Columns beside a conversation that hold the right answer, in lower case."""
_SYSTEM_NAMES = ("system", "system_prompt", "system_message")
_TOOL_NAMES = ("tools", "functions")
_CONTEXT_NAMES = ("context", "passage", "article", "document", "documents", "support")
_OPTION_NAMES = ("choices", "options")
_DIALOGUE_NAMES = frozenset(
    {"dialog", "dialogue", "dialogs", "dialogues", "turns", "conversation", "utterances"}
)
_PAIR = ("chosen", "rejected")


class ChatForm(NamedTuple):
    """Which columns of a table make up its conversations."""

    messages: str
    answer: str | None
    """The column of the right answer; None: the last assistant turn is the answer."""
    answer_name: str
    """The column under which rows carry the right answer after reading."""
    system: str | None
    context: tuple[str, ...]
    """Columns of text that the conversations may lack."""
    is_answer_chosen: bool
    """Whether a person named the answer: then a last assistant turn that differs is dropped."""
    has_answers: bool = True


def read_chat_rows(
    source: Source, said: TableMeta, sample: Sequence[dict[str, Any]], notes: list[str]
) -> tuple[Source, TableMeta] | None:
    """Return a table of conversations as rows with a prompt and an answer; None where it is no such table.

    The second value is all that is said about the table, with what the conversations imply.
    """
    column = _messages_column(source, said, sample)
    if column is None:
        return None
    options = said.options or _option_column(source.columns, sample)
    form = _settle_form(source, said, sample, column)
    columns = tuple(dict.fromkeys((*source.columns, form.answer_name)))
    reader = _RowReader(source, form)
    notes.append(_note(form, said))
    implied = TableMeta(
        data_type="mcq" if options else "qa",
        messages_column=column,
        input_columns=(column,),
        options=options or None,
    )
    # Rows carry the answer under one name, whether it was a column or the last turn.
    answer = form.answer_name if form.has_answers else None
    said = msgspec.structs.replace(said.over(implied), output_column=answer)
    return ChatSource(source, columns, reader), said


class ChatSource(AdaptedSource):
    """The rows of a table of conversations. Once all are read, it knows the media that they show."""

    def __init__(self, source: Source, columns: tuple[str, ...], reader: _RowReader) -> None:
        super().__init__(source, columns, reader.read)
        self._reader = reader

    def _finish(self) -> None:
        self._reader.is_checked = True

    @classmethod
    def from_messages(cls, source: Source, messages: str, answer: str) -> ChatSource:
        """Return rows whose conversations end with the turn to be answered, and that have their answer."""
        form = ChatForm(messages, answer, answer, None, (), True)
        return cls(source, source.columns, _RowReader(source, form))

    def list_row_notes(self) -> list[str]:
        """Say what of the rows is not used."""
        unsent = self._reader.unsent
        return [f"of each message, {listing(sorted(unsent))} is not sent to the model"] if unsent else []

    def media_settings(self) -> dict[str, Any]:
        """Return what the plan must know about the media of the prompts; empty where they are text."""
        reader = self._reader
        if not reader.media:
            return {}
        return {
            "media": sorted(reader.media),
            "has_media_addresses": reader.has_addresses,
            "needs_chat": True,
        }


def _note(form: ChatForm, said: TableMeta) -> str:
    answer = "the last assistant turn" if form.answer is None else f"column {form.answer!r}"
    answer = answer if form.has_answers else "not known"
    named = "" if said.messages_column is None else " (as named)"
    return f"column {form.messages!r}{named} holds conversations; the answer is {answer}"


def _messages_column(source: Source, said: TableMeta, sample: Sequence[dict[str, Any]]) -> str | None:
    if said.messages_column is not None:
        _check_named(source, said)
        return said.messages_column
    if said.template or said.human_prompt or said.input_columns or said.data_type == "text":
        return None
    inner = [f"{name}.{key}" for name in source.columns for key in ("messages", "conversations")]
    found = [name for name in (*source.columns, *inner) if _has_conversations(sample, name)]
    if {*_PAIR} & {*found}:
        raise _build_pairs_error(source, found)
    prompts = [name for name in found if name.lower() not in CHAT_ANSWER_NAMES] or found
    if len(prompts) > 1:
        what = f"the columns {listing(prompts)} all hold conversations"
        readings = [Reading(f"ask what {name!r} holds", TableMeta(messages_column=name)) for name in prompts]
        raise _build_ambiguity_error(source, what, readings)
    if not prompts:
        _reject_text_lists(source, said, sample)
        return None
    return prompts[0]


def _check_named(source: Source, said: TableMeta) -> None:
    name = said.messages_column or ""
    if name not in source.columns and name.split(".")[0] not in source.columns:
        what = f"there is no column {name!r} ('messages_column' names it){suggest_name(name, source.columns)}"
        what += f"; the columns are {listing(source.columns)}"
        raise AuthorError(Problem("TABLE-001", what, "correct --messages-column", Origin(source.path)))
    other = next((key for key in ("template", "human_prompt", "bot_prompt") if getattr(said, key)), None)
    if other is not None:
        what = f"'messages_column' and {other!r} are both given, and each is the whole prompt"
        fix = f"remove --messages-column, or remove {other!r}"
        raise AuthorError(Problem("TABLE-031", what, fix, Origin(source.path)))


def _has_only(sample: Iterable[dict[str, Any]], name: str, holds: Any) -> bool:
    """Whether every value of a column that is not empty passes a test, and there is one."""
    values = [value for one in sample if (value := get_field(one, name, None)) not in (None, "", [])]
    return bool(values) and all(map(holds, values))


def _has_conversations(sample: Sequence[dict[str, Any]], name: str) -> bool:
    """Whether a column holds conversations; beside them, a plain text is a conversation of one turn."""
    values = [get_field(one, name, None) for one in sample]
    return any(map(is_conversation, values)) and _has_only(
        sample, name, lambda value: is_conversation(value) or is_plain_text(value)
    )


def _option_column(columns: Sequence[str], sample: Sequence[dict[str, Any]]) -> str | None:
    def lists(name: str) -> bool:
        return all(read_option_list(one, name) is not None for one in sample)

    return next((name for name in _OPTION_NAMES if name in columns and lists(name)), None)


def _settle_form(source: Source, said: TableMeta, sample: Sequence[dict[str, Any]], column: str) -> ChatForm:
    columns = source.columns
    tools = [
        name for name in _TOOL_NAMES if name in columns and any(parse_value(one.get(name)) for one in sample)
    ]
    if tools:
        what = f"the column {tools[0]!r} gives the model tools; tool calls are not supported"
        fix = "remove the rows that need tools, or the column where the replies need none"
        raise AuthorError(Problem("TABLE-032", what, fix, Origin(source.path)))
    answer = _answer_column(source, said, sample, column)
    free = next(name for name in ("answer", "reply", "target_reply") if name not in columns)
    is_named = said.messages_column is not None
    return ChatForm(
        column,
        answer,
        answer if answer is not None else free,
        next((name for name in _SYSTEM_NAMES if name in columns), None),
        () if is_named else tuple(name for name in _CONTEXT_NAMES if name in columns and name != answer),
        said.output_column is not None,
        not said.no_answers,
    )


def _answer_column(
    source: Source, said: TableMeta, sample: Sequence[dict[str, Any]], column: str
) -> str | None:
    columns = source.columns
    if said.output_column == column or said.no_answers:
        return None
    if said.output_column is not None:
        if said.output_column not in columns and said.output_column.split(".")[0] not in columns:
            what = f"there is no column {said.output_column!r} ('output_column' names it)"
            what += f"{suggest_name(said.output_column, columns)}; the columns are {listing(columns)}"
            raise AuthorError(Problem("TABLE-001", what, "correct --answer-column", Origin(source.path)))
        return said.output_column
    filled = [
        name
        for name in columns
        if name != column
        and name.lower() in CHAT_ANSWER_NAMES
        and any(one.get(name) not in (None, "", []) for one in sample)
    ]
    if len(filled) > 1:
        what = f"several columns beside {column!r} may hold the right answer: {listing(filled)}"
        raise _build_ambiguity_error(source, what, [_answer_reading(name) for name in filled])
    if filled:
        return filled[0]
    ends = [turns[-1].role for one in sample if (turns := _try_read_turns(get_field(one, column, None)))]
    others = [name for name in columns if name != column]
    if ends and "assistant" not in ends:
        what = f"the conversations in {column!r} end with the user's turn, and no column is a known answer"
        unscored = Reading("keep the replies, score nothing", TableMeta(no_answers=True))
        raise _build_ambiguity_error(source, what, [*map(_answer_reading, others[:3]), unscored])
    return None


def _answer_reading(name: str) -> Reading:
    return Reading(f"the right answer is in {name!r}", TableMeta(output_column=name))


def _try_read_turns(value: Any) -> list[ConversationTurn] | None:
    try:
        return read_turns(value)
    except BadConversation:
        return None


def _build_ambiguity_error(source: Source, what: str, readings: Sequence[Reading]) -> AmbiguousTableError:
    return AmbiguousTableError(source.path, what, readings, code="TABLE-031")


def _build_pairs_error(source: Source, found: Sequence[str]) -> AuthorError:
    what = (
        "the rows are preference pairs ('chosen' and 'rejected'): they say which of two replies is better, "
        "not which reply is right"
    )
    prompt = next((name for name in found if name not in _PAIR), "chosen")
    fix = (
        "to score replies against the preferred one, run "
        f"`assay run {shlex.quote(source.path)} --messages-column {prompt} --answer-column chosen`"
    )
    return AuthorError(Problem("TABLE-032", what, fix, Origin(source.path)))


def _reject_text_lists(source: Source, said: TableMeta, sample: Sequence[dict[str, Any]]) -> None:
    """Raise where a column is called a dialogue and lists texts: nothing says who speaks.

    Beside a question it is what the question refers to, and needs no speakers.
    """
    names = [name for name in source.columns if name.lower() in _DIALOGUE_NAMES]
    if any((hint := suggest_role(name)) is not None and hint.role == "question" for name in source.columns):
        return
    if said.options or said.output_column or not names or not _has_only(sample, names[0], is_text_list):
        return
    name = names[0]
    what = f"the column {name!r} lists texts without saying who speaks"
    alternating = "user and assistant alternate, the user first"
    raise _build_ambiguity_error(
        source,
        what,
        [
            Reading(alternating, TableMeta(messages_column=name)),
            Reading("only the first text is asked", TableMeta(human_prompt=f"{{{{ {name}[0] }}}}")),
        ],
    )


class _RowReader:
    """Reads rows in one form, and remembers which media they show."""

    def __init__(self, source: Source, form: ChatForm) -> None:
        self._form = form
        self._path = source.path
        self._roots = (Path(source.path).parent,)
        self.media: set[str] = set()
        self.unsent: set[str] = set()
        """Keys of messages that are no part of the prompt."""
        self.has_addresses = False
        self.is_checked = False
        """Whether all rows were read before."""

    def read(self, record: Record) -> dict[str, Any]:
        """Return a row's fields: the turns before the reply, and the right answer."""
        form = self._form
        try:
            value = parse_value(get_field(record.fields, form.messages, None))
            turns = self._add_system(read_turns(value), record.fields)
            prompt, answer = self._split_reply(turns, record)
            if not self.is_checked:
                self.unsent |= find_unsent_keys(value)
                self._check(prompt, record)
        except UnsupportedConversation as trouble:
            fix = "remove the row, or rewrite it as plain text turns"
            raise self._problem("TABLE-032", str(trouble), fix, record) from None
        except BadConversation as trouble:
            fix = 'write [{"role": "user", "content": "..."}, ...], ending with the turn to be answered'
            raise self._problem("TABLE-030", str(trouble), fix, record) from None
        written = [turn.written() for turn in prompt]
        return {**record.fields, form.messages: written, form.answer_name: answer}

    def _problem(self, code: str, what: str, fix: str, record: Record) -> RowProblem:
        return RowProblem(Problem(code, what, fix, record.origin.at(self._form.messages)))

    def _add_system(self, turns: list[ConversationTurn], fields: dict[str, Any]) -> list[ConversationTurn]:
        text = None if self._form.system is None else fields.get(self._form.system)
        if not isinstance(text, str) or not text.strip():
            return turns
        own = next((get_turn_text(turn) for turn in turns if turn.role == "system"), None)
        if own is not None and own.strip() != text.strip():
            raise BadConversation(
                f"the conversation has a system turn, and the column {self._form.system!r} another text"
            )
        return turns if own is not None else [ConversationTurn("system", text), *turns]

    def _split_reply(
        self, turns: list[ConversationTurn], record: Record
    ) -> tuple[list[ConversationTurn], Any]:
        """Return the turns that are the prompt, and the right answer."""
        form = self._form
        reply = get_turn_text(turns[-1]) if turns[-1].role == "assistant" else None
        prompt = turns if reply is None else turns[:-1]
        if not form.has_answers:
            return prompt, None
        if form.answer is None:
            if reply is None:
                raise BadConversation(
                    f"the conversation ends with the {turns[-1].role}'s turn, and there is no answer column"
                )
            return prompt, reply
        answer = _answer_text(get_field(record.fields, form.answer, None))
        if answer in (None, "", []):
            return prompt, reply
        if reply is not None and not form.is_answer_chosen and not _is_answer(reply, answer):
            what = (
                f"the last assistant turn is {reply!r:.60}, and the column {form.answer!r} says "
                f"{answer!r:.60}: either may be the right answer"
            )
            run = f"assay run {shlex.quote(self._path)} --answer-column"
            fix = f"run `{run} {shlex.quote(form.answer)}` or `{run} {shlex.quote(form.messages)}`"
            raise self._problem("TABLE-031", what, fix, record)
        return prompt, answer

    def _check(self, prompt: Sequence[ConversationTurn], record: Record) -> None:
        """Check what later readings need not check again, and note the media."""
        _check_prompt(prompt)
        self._check_context(prompt, record)
        for turn in prompt:
            if not isinstance(turn.content, str):
                self._note_media(to_message(turn.written(), self._roots))

    def _check_context(self, prompt: Sequence[ConversationTurn], record: Record) -> None:
        """Raise where a column holds a text that the conversation lacks: it is never dropped in silence."""
        if not self._form.context:
            return
        shown = "\n".join(map(get_turn_text, prompt))
        for name in self._form.context:
            text = record.fields.get(name)
            if isinstance(text, str) and text.strip() and text.strip() not in shown:
                what = f"the column {name!r} holds a text that the conversation does not show"
                run = f"assay run {shlex.quote(self._path)} --messages-column {self._form.messages}"
                fix = f"add the text to the conversation, or leave it out: `{run}`"
                raise self._problem("TABLE-031", what, fix, record)

    def _note_media(self, message: Message) -> None:
        for part in message.media:
            self.media.add(str(part.medium))
            self.has_addresses = self.has_addresses or bool(part.url)


def _answer_text(value: Any) -> Any:
    """Return an answer as text; of a message, or a conversation that ends with the reply, that text."""
    parsed = parse_value(value)
    parsed = parsed.get("messages", [parsed]) if isinstance(parsed, dict) else parsed
    if not is_conversation(parsed):
        return value
    turns = read_turns(parsed)
    if turns[-1].role != "assistant":
        raise BadConversation(f"the answer is a conversation that ends with the {turns[-1].role}'s turn")
    return get_turn_text(turns[-1])


def _is_answer(reply: str, answer: Any) -> bool:
    """Whether the last assistant turn is the answer, or one of the accepted ones."""
    accepted = answer if isinstance(answer, list) else [answer]
    return reply.strip() in [str(one).strip() for one in accepted]


def _check_prompt(prompt: Sequence[ConversationTurn]) -> None:
    if not any(turn.role == "user" for turn in prompt):
        raise BadConversation("the conversation has no user turn before the reply")
    if prompt[-1].role != "user":
        raise BadConversation(
            f"the turn before the reply is the {prompt[-1].role}'s, expected the user's: "
            "nothing asks for the reply"
        )
