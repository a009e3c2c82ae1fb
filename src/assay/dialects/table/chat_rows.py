"""Tables with a column of conversations: the column, the prompt and the right answer.

All turns before the reply are the prompt, unchanged. The right answer is the answer column if there is one,
otherwise the last assistant turn.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import AuthorError, Problem, listing
from assay.core.origin import Origin
from assay.core.prompt import Message
from assay.core.setting_names import name_setting
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
from assay.dialects.table.meta import TableMeta, build_unknown_column_problem
from assay.dialects.table.readings import AmbiguousTableError, TableReading
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
"""Names of answer columns in tables of conversations, in lower case."""
_SYSTEM_NAMES = ("system", "system_prompt", "system_message")
_TOOL_NAMES = ("tools", "functions")
_CONTEXT_NAMES = ("context", "passage", "article", "document", "documents", "support")
_OPTION_NAMES = ("choices", "options")
_DIALOGUE_NAMES = frozenset(
    {"dialog", "dialogue", "dialogs", "dialogues", "turns", "conversation", "utterances"}
)
_PAIR = ("chosen", "rejected")


class ChatForm(NamedTuple):
    """The roles of the columns in a table of conversations."""

    messages: str
    answer: str | None
    """The answer column; None: the last assistant turn is the answer."""
    answer_name: str
    """The column with the right answer, after reading."""
    system: str | None
    context: tuple[str, ...]
    """Text columns that may be missing from the conversations."""
    is_answer_chosen: bool
    """Whether the settings name the answer: then a different last assistant turn is dropped."""
    has_answers: bool = True


def read_chat_rows(
    source: Source, meta: TableMeta, sample: Sequence[dict[str, Any]], notes: list[str]
) -> tuple[Source, TableMeta] | None:
    """Return a table of conversations as rows with a prompt and an answer; None for other tables.

    The second value is the settings, completed by what the conversations imply.
    """
    column = _messages_column(source, meta, sample)
    if column is None:
        return None
    options = meta.options or _option_column(source.columns, sample)
    form = _settle_form(source, meta, sample, column)
    columns = tuple(dict.fromkeys((*source.columns, form.answer_name)))
    reader = _RowReader(source, form)
    notes.append(_note(form, meta))
    implied = TableMeta(
        data_type="mcq" if options else "qa",
        messages_column=column,
        input_columns=(column,),
        options=options or None,
    )
    # All rows have the answer under the same name, whether it was a column or the last turn.
    answer = form.answer_name if form.has_answers else None
    meta = msgspec.structs.replace(meta.merge_over(implied), output_column=answer)
    return ChatSource(source, columns, reader), meta


class ChatSource(AdaptedSource):
    """The rows of a table of conversations. After a full pass it knows the media they contain."""

    def __init__(self, source: Source, columns: tuple[str, ...], reader: _RowReader) -> None:
        super().__init__(source, columns, reader.read)
        self._reader = reader

    def _finish(self) -> None:
        self._reader.is_checked = True

    @classmethod
    def from_messages(cls, source: Source, messages: str, answer: str) -> ChatSource:
        """Return rows whose conversations end with the turn to answer, and that have an answer column."""
        form = ChatForm(messages, answer, answer, None, (), True)
        return cls(source, source.columns, _RowReader(source, form))

    def list_row_notes(self) -> list[str]:
        """Return notes on unused parts of the rows."""
        unsent = self._reader.unsent
        return [f"the message fields {listing(sorted(unsent))} are not sent to the model"] if unsent else []

    def media_settings(self) -> dict[str, Any]:
        """Return the settings about media that the plan needs; empty for text prompts."""
        reader = self._reader
        if not reader.media:
            return {}
        return {
            "media": sorted(reader.media),
            "has_media_addresses": reader.has_addresses,
            "needs_chat": True,
        }


def _note(form: ChatForm, meta: TableMeta) -> str:
    answer = "the last assistant turn" if form.answer is None else f"column {form.answer!r}"
    answer = answer if form.has_answers else "unknown"
    named = "" if meta.messages_column is None else " (as named)"
    return f"column {form.messages!r}{named} contains conversations; the answer is {answer}"


def _messages_column(source: Source, meta: TableMeta, sample: Sequence[dict[str, Any]]) -> str | None:
    if meta.messages_column is not None:
        _check_named(source, meta)
        return meta.messages_column
    if meta.template or meta.human_prompt or meta.input_columns or meta.data_type == "text":
        return None
    kinds = {name: {type(one.get(name)) for one in sample} for name in source.columns}
    objects = [name for name, of_cells in kinds.items() if any(issubclass(one, Mapping) for one in of_cells)]
    inner = [f"{name}.{key}" for name in objects for key in ("messages", "conversations")]
    found = [name for name in (*source.columns, *inner) if _has_conversations(sample, name)]
    if {*_PAIR} & {*found}:
        raise _build_pairs_error(source, found)
    prompts = [name for name in found if name.lower() not in CHAT_ANSWER_NAMES] or found
    if len(prompts) > 1:
        what = f"the columns {listing(prompts)} all contain conversations"
        readings = [
            TableReading(f"prompts are in {name!r}", TableMeta(messages_column=name)) for name in prompts
        ]
        raise _build_ambiguity_error(source, what, readings)
    if not prompts:
        _reject_text_lists(source, meta, sample)
        return None
    return prompts[0]


def _check_named(source: Source, meta: TableMeta) -> None:
    name = meta.messages_column or ""
    if name not in source.columns and name.split(".")[0] not in source.columns:
        raise AuthorError(build_unknown_column_problem(name, "messages_column", source.columns, source.path))
    other = next((key for key in ("template", "human_prompt", "bot_prompt") if getattr(meta, key)), None)
    if other is not None:
        first, second = name_setting("messages_column"), name_setting(other)
        what = f"{first} and {second} are both given, but each defines the whole prompt"
        fix = f"remove {first}, or remove {second}"
        raise AuthorError(Problem("TABLE-031", what, fix, Origin(source.path)))


def _has_only(sample: Iterable[dict[str, Any]], name: str, holds: Any) -> bool:
    """Whether a column has values and all of them pass a test; empty values do not count."""
    values = [value for one in sample if (value := get_field(one, name, None)) not in (None, "", [])]
    return bool(values) and all(map(holds, values))


def _has_conversations(sample: Sequence[dict[str, Any]], name: str) -> bool:
    """Whether a column contains conversations; a plain text among them counts as a single turn."""
    values = [get_field(one, name, None) for one in sample]
    return any(map(is_conversation, values)) and _has_only(
        sample, name, lambda value: is_conversation(value) or is_plain_text(value)
    )


def _option_column(columns: Sequence[str], sample: Sequence[dict[str, Any]]) -> str | None:
    def lists(name: str) -> bool:
        return all(read_option_list(one, name) is not None for one in sample)

    return next((name for name in _OPTION_NAMES if name in columns and lists(name)), None)


def _settle_form(source: Source, meta: TableMeta, sample: Sequence[dict[str, Any]], column: str) -> ChatForm:
    columns = source.columns
    tools = [
        name for name in _TOOL_NAMES if name in columns and any(parse_value(one.get(name)) for one in sample)
    ]
    if tools:
        what = f"the column {tools[0]!r} defines tools; tool calls are not supported"
        fix = "remove the rows that need tools, or remove the column if the replies need none"
        raise AuthorError(Problem("TABLE-032", what, fix, Origin(source.path)))
    answer = _answer_column(source, meta, sample, column)
    free = next(name for name in ("answer", "reply", "target_reply") if name not in columns)
    is_named = meta.messages_column is not None
    return ChatForm(
        column,
        answer,
        answer if answer is not None else free,
        next((name for name in _SYSTEM_NAMES if name in columns), None),
        () if is_named else tuple(name for name in _CONTEXT_NAMES if name in columns and name != answer),
        meta.output_column is not None,
        not meta.no_answers,
    )


def _answer_column(
    source: Source, meta: TableMeta, sample: Sequence[dict[str, Any]], column: str
) -> str | None:
    columns = source.columns
    if meta.output_column == column or meta.no_answers:
        return None
    if meta.output_column is not None:
        if meta.output_column not in columns and meta.output_column.split(".")[0] not in columns:
            raise AuthorError(
                build_unknown_column_problem(meta.output_column, "output_column", columns, source.path)
            )
        return meta.output_column
    filled = [
        name
        for name in columns
        if name != column
        and name.lower() in CHAT_ANSWER_NAMES
        and any(one.get(name) not in (None, "", []) for one in sample)
    ]
    if len(filled) > 1:
        what = f"several columns may contain the right answer: {listing(filled)}"
        raise _build_ambiguity_error(source, what, [_answer_reading(name) for name in filled])
    if filled:
        return filled[0]
    ends = [turns[-1].role for one in sample if (turns := _try_read_turns(get_field(one, column, None)))]
    others = [name for name in columns if name != column]
    if ends and "assistant" not in ends:
        what = f"the conversations in {column!r} end with the user's turn, and no column is a known answer"
        unscored = TableReading("save the replies without scoring them", TableMeta(no_answers=True))
        raise _build_ambiguity_error(source, what, [*map(_answer_reading, others[:3]), unscored])
    return None


def _answer_reading(name: str) -> TableReading:
    return TableReading(f"the right answer is in {name!r}", TableMeta(output_column=name))


def _try_read_turns(value: Any) -> list[ConversationTurn] | None:
    try:
        return read_turns(value)
    except BadConversation:
        return None


def _build_ambiguity_error(
    source: Source, what: str, readings: Sequence[TableReading]
) -> AmbiguousTableError:
    return AmbiguousTableError(source.path, what, readings, code="TABLE-031")


def _build_pairs_error(source: Source, columns: Sequence[str]) -> AuthorError:
    what = (
        "the rows are preference pairs ('chosen' and 'rejected'): they show which of two replies is better, "
        "not which reply is right"
    )
    prompt = next((name for name in columns if name not in _PAIR), "chosen")
    fix = (
        "to score replies against the preferred one, run "
        f"`assay run {shlex.quote(source.path)} --messages-column {prompt} --answer-column chosen`"
    )
    return AuthorError(Problem("TABLE-032", what, fix, Origin(source.path)))


def _reject_text_lists(source: Source, meta: TableMeta, sample: Sequence[dict[str, Any]]) -> None:
    """Raise if a dialogue column lists texts without speakers.

    In a table with a question column it is the context of the question, which needs no speakers.
    """
    names = [name for name in source.columns if name.lower() in _DIALOGUE_NAMES]
    if any((hint := suggest_role(name)) is not None and hint.role == "question" for name in source.columns):
        return
    if meta.options or meta.output_column or not names or not _has_only(sample, names[0], is_text_list):
        return
    name = names[0]
    what = f"the column {name!r} lists texts without speakers"
    alternating = "user and assistant alternate, the user first"
    raise _build_ambiguity_error(
        source,
        what,
        [
            TableReading(alternating, TableMeta(messages_column=name)),
            TableReading("the first text is the prompt", TableMeta(human_prompt=f"{{{{ {name}[0] }}}}")),
        ],
    )


class _RowReader:
    """Reads rows of conversations, and records the media they contain."""

    def __init__(self, source: Source, form: ChatForm) -> None:
        self._form = form
        self._path = source.path
        self._roots = (Path(source.path).parent,)
        self.media: set[str] = set()
        self.unsent: set[str] = set()
        """Message keys that are not part of the prompt."""
        self.has_addresses = False
        self.is_checked = False
        """Whether all rows have been read once."""

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
            fix = "remove the row, or rewrite it with plain text turns"
            raise self._problem("TABLE-032", str(trouble), fix, record) from None
        except BadConversation as trouble:
            fix = 'write [{"role": "user", "content": "..."}, ...], ending with the turn to answer'
            raise self._problem("TABLE-030", str(trouble), fix, record) from None
        written = [turn.to_openai() for turn in prompt]
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
                f"the system turn of the conversation differs from the column {self._form.system!r}"
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
                f"the last assistant turn is {reply!r:.60}, but the column {form.answer!r} has "
                f"{answer!r:.60}: either could be the right answer"
            )
            run = f"assay run {shlex.quote(self._path)} --answer-column"
            fix = f"run `{run} {shlex.quote(form.answer)}` or `{run} {shlex.quote(form.messages)}`"
            raise self._problem("TABLE-031", what, fix, record)
        return prompt, answer

    def _check(self, prompt: Sequence[ConversationTurn], record: Record) -> None:
        """Check a row on the first pass, and record its media."""
        _check_prompt(prompt)
        self._check_context(prompt, record)
        for turn in prompt:
            if not isinstance(turn.content, str):
                self._note_media(to_message(turn.to_openai(), self._roots))

    def _check_context(self, prompt: Sequence[ConversationTurn], record: Record) -> None:
        """Raise if a column has a text that the conversation lacks, so that no text is dropped silently."""
        if not self._form.context:
            return
        shown = "\n".join(map(get_turn_text, prompt))
        for name in self._form.context:
            text = record.fields.get(name)
            if isinstance(text, str) and text.strip() and text.strip() not in shown:
                what = f"the column {name!r} has a text that is missing from the conversation"
                run = f"assay run {shlex.quote(self._path)} --messages-column {self._form.messages}"
                fix = f"add the text to the conversation, or run without it: `{run}`"
                raise self._problem("TABLE-031", what, fix, record)

    def _note_media(self, message: Message) -> None:
        for part in message.media:
            self.media.add(str(part.medium))
            self.has_addresses = self.has_addresses or bool(part.url)


def _answer_text(value: Any) -> Any:
    """Return an answer as text; for a message or a conversation, the text of the final reply."""
    parsed = parse_value(value)
    parsed = parsed.get("messages", [parsed]) if isinstance(parsed, dict) else parsed
    if not is_conversation(parsed):
        return value
    turns = read_turns(parsed)
    if turns[-1].role != "assistant":
        raise BadConversation(f"the answer is a conversation that ends with the {turns[-1].role}'s turn")
    return get_turn_text(turns[-1])


def _is_answer(reply: str, answer: Any) -> bool:
    """Whether the last assistant turn is one of the accepted answers."""
    accepted = answer if isinstance(answer, list) else [answer]
    return reply.strip() in [str(one).strip() for one in accepted]


def _check_prompt(prompt: Sequence[ConversationTurn]) -> None:
    if not any(turn.role == "user" for turn in prompt):
        raise BadConversation("the conversation has no user turn before the reply")
    if prompt[-1].role != "user":
        raise BadConversation(
            f"the turn before the reply has the role {prompt[-1].role}, expected user: "
            "nothing asks for the reply"
        )
