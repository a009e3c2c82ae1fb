"""Judge prompts: read from a file, checked, and filled in.

A file is TOML (`[[prompt]]` tables, as in Assay's own `prompts.toml`) or JSON lines in the format of
MT-Bench's judge prompts. The type and the fields of a prompt determine its purpose. Values are inserted once:
an answer that contains `{question}` stays as it is.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib import resources
from pathlib import Path
from string import Formatter
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from assay.core.errors import AuthorError, PlanError, Problem, Problems, listing, suggest_name
from assay.core.ids import digest
from assay.core.origin import Origin
from assay.core.prompt import Message, Prompt

JudgeType: TypeAlias = Literal["single", "pairwise"]

_FIELDS: dict[JudgeType, tuple[str, ...]] = {
    "single": ("question", "answer", "question_N", "answer_N", "ref_answer_N", "conversation", "references"),
    "pairwise": (
        *("question", "answer_a", "answer_b", "question_N", "answer_a_N", "answer_b_N", "ref_answer_N"),
        *("conversation_a", "conversation_b", "references"),
    ),
}
_FORMATS: dict[JudgeType, str] = {"single": "[[rating]]", "pairwise": "[[A]]"}
_NUMBERED = re.compile(r"(?P<name>\w+)_(?P<turn>[1-9]\d?)")


class JudgePrompt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One prompt of a file."""

    name: str
    type: JudgeType
    """`single`: grade one side's answer. `pairwise`: decide which of two is better."""
    system_prompt: str
    """The system message, used verbatim, without fields."""
    prompt_template: str
    """The user's message, with `{fields}`; double the braces to write literal ones."""
    output_format: str
    """The format of the verdict: `[[rating]]` for single, `[[A]]` for pairwise. Others are not supported."""
    description: str = ""
    category: str = ""

    @property
    def pieces(self) -> list[tuple[str, str | None]]:
        """Return the template as pairs of text and the field after it; ValueError if it is malformed."""
        pieces: list[tuple[str, str | None]] = []
        for text, field, form, conversion in Formatter().parse(self.prompt_template):
            if form or conversion:
                raise ValueError(
                    f"the field {{{field}}} has a format or conversion; write the plain field name"
                )
            pieces.append((text, field))
        return pieces

    @property
    def fields(self) -> frozenset[str]:
        """Return the fields that the template names."""
        return frozenset(field for _, field in self.pieces if field is not None)

    @property
    def n_turns(self) -> int | None:
        """Return the number of turns it shows; None for any number."""
        if any(field.startswith("conversation") for field in self.fields):
            return None
        return max(
            (int(match["turn"]) for match in map(_NUMBERED.fullmatch, self.fields) if match), default=1
        )

    @property
    def has_reference(self) -> bool:
        """Whether it shows reference answers."""
        return any(field == "references" or field.startswith("ref_answer_") for field in self.fields)

    def render(self, values: Mapping[str, str]) -> Prompt:
        """Return the messages for the judge; KeyError when a field has no value."""
        text = "".join(text + ("" if field is None else values[field]) for text, field in self.pieces)
        system = (Message("system", self.system_prompt),) if self.system_prompt else ()
        return (*system, Message("user", text))


class _TomlFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of a TOML file of `[[prompt]]` tables."""

    prompt: list[Any] = []


class PromptBook:
    """The prompts of one file, at most one for each purpose."""

    def __init__(self, prompts: Sequence[JudgePrompt], source: str) -> None:
        self.prompts = tuple(prompts)
        self.source = source
        self._by_purpose = {_purpose(prompt): prompt for prompt in prompts}

    @cached_property
    def digest(self) -> str:
        """Return the hash of all prompts."""
        return digest(self.prompts)

    def find(self, type: JudgeType, n_turns: int, *, has_reference: bool) -> JudgePrompt:
        """Return the prompt for conversations with `n_turns` turns: one for that number, else one for any."""
        for turns in (n_turns, None):
            if (prompt := self._by_purpose.get((type, turns, has_reference))) is not None:
                return prompt
        wanted = _describe_purpose((type, n_turns, has_reference))
        known = "; ".join(f"{prompt.name}: {_describe_purpose(_purpose(prompt))}" for prompt in self.prompts)
        raise PlanError(
            Problem(
                "JUDGE-004",
                f"the file has no judge prompt for {wanted} ({known})",
                "add one to the file, or use Assay's own prompts",
                Origin(self.source),
            )
        )


def build_grading_values(conversation: Conversation) -> dict[str, str]:
    """Return the values of all fields that a grading prompt for this conversation may use."""
    values = _build_shared_values(conversation)
    values |= _number_fields("answer", conversation.answers)
    values["conversation"] = transcript(conversation.questions, conversation.answers, "Assistant")
    return values


def build_comparison_values(conversation: Conversation, a: Sequence[str], b: Sequence[str]) -> dict[str, str]:
    """Return the values of all fields that a comparison prompt for these two answers may use."""
    values = _build_shared_values(conversation)
    for side, answers in (("a", a), ("b", b)):
        values |= _number_fields(f"answer_{side}", answers)
        values[f"conversation_{side}"] = transcript(
            conversation.questions, answers, f"Assistant {side.upper()}"
        )
    return values


def _build_shared_values(conversation: Conversation) -> dict[str, str]:
    values = _number_fields("question", conversation.questions)
    if conversation.has_reference:
        values |= {
            f"ref_answer_{turn}": reference
            for turn, reference in enumerate(conversation.references, 1)
            if reference is not None
        }
        values["references"] = transcript(conversation.questions, conversation.references, "Reference answer")
    return values


def _number_fields(name: str, texts: Sequence[str]) -> dict[str, str]:
    """Return `name_1`, `name_2`, ...; a conversation of one turn also has plain `name`."""
    values = {f"{name}_{turn}": text for turn, text in enumerate(texts, 1)}
    return values | {name: texts[0]} if len(texts) == 1 else values


@lru_cache(maxsize=1)
def own_prompts() -> PromptBook:
    """Return Assay's own prompts; they accept conversations of any length."""
    with resources.as_file(resources.files("assay.scoring.judges") / "prompts.toml") as path:
        return load_prompts(path)


def load_prompts(path: Path) -> PromptBook:
    """Read a file of judge prompts; raise one AuthorError with all problems in it."""
    problems = Problems()
    prompts: list[JudgePrompt] = []
    taken: dict[tuple[JudgeType, int | None, bool], str] = {}
    for where, raw in _entries(path):
        try:
            prompt = msgspec.convert(raw, JudgePrompt)
            _check(prompt)
        except (ValueError, msgspec.ValidationError) as error:
            problems.add(_prompt_problem(str(error), where))
            continue
        purpose = _purpose(prompt)
        if purpose in taken:
            clash = (
                f"prompts {taken[purpose]!r} and {prompt.name!r} are both for {_describe_purpose(purpose)}"
            )
            problems.add(_prompt_problem(clash, where))
        taken.setdefault(purpose, prompt.name)
        prompts.append(prompt)
    if not prompts and not problems.total:
        problems.add(_prompt_problem("the file contains no prompts", Origin(str(path))))
    problems.raise_if_any()
    return PromptBook(prompts, str(path))


def _entries(path: Path) -> Iterator[tuple[Origin, Any]]:
    """Yield the unchecked entries of a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AuthorError(_prompt_problem(f"the file cannot be read: {error}", Origin(str(path)))) from error
    try:
        if path.suffix == ".toml":
            for row, entry in enumerate(msgspec.convert(tomllib.loads(text), _TomlFile).prompt, 1):
                yield Origin(str(path), row=row), entry
            return
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield Origin(str(path), line=number), msgspec.json.decode(line)
    except (tomllib.TOMLDecodeError, msgspec.DecodeError, RecursionError) as error:
        raise AuthorError(_prompt_problem(f"the file cannot be read: {error}", Origin(str(path)))) from error


def _check(prompt: JudgePrompt) -> None:
    """Raise ValueError unless a prompt can be filled in, shows what it judges, and uses a known format."""
    known = _FIELDS[prompt.type]
    for field in sorted(prompt.fields):
        if field.endswith("_N") or _strip_turn_number(field) not in known:
            raise ValueError(
                f"prompt {prompt.name!r} of type {prompt.type!r} uses the unknown field {{{field}}}"
                f"{suggest_name(field, known)}; expected one of {listing(known)}"
            )
        if not _is_field_available(field, prompt.n_turns):
            raise ValueError(
                f"prompt {prompt.name!r} is for {_describe_purpose(_purpose(prompt))}; "
                f"{{{field}}} has no value there"
            )
    answers = ("answer",) if prompt.type == "single" else ("answer_a", "answer_b")
    for answer in answers:
        accepted = {answer, answer.replace("answer", "conversation"), f"{answer}_{prompt.n_turns}"}
        if not accepted & prompt.fields:
            raise ValueError(f"prompt {prompt.name!r} does not include {answer!r}, which it asks to judge")
    if prompt.output_format != _FORMATS[prompt.type]:
        raise ValueError(
            f"prompt {prompt.name!r} has the output_format {prompt.output_format!r}; "
            f"expected {_FORMATS[prompt.type]!r} for type {prompt.type!r}"
        )


def _strip_turn_number(field: str) -> str:
    """Return `answer_N` for `answer_2`."""
    match = _NUMBERED.fullmatch(field)
    return field if match is None else f"{match['name']}_N"


def _is_field_available(field: str, n_turns: int | None) -> bool:
    """Whether a field has a value in conversations of `n_turns` turns; None means any number."""
    is_whole = field == "references" or field.startswith("conversation")
    is_numbered = _NUMBERED.fullmatch(field) is not None
    return is_whole or (n_turns is not None and (is_numbered or n_turns == 1))


def _purpose(prompt: JudgePrompt) -> tuple[JudgeType, int | None, bool]:
    return prompt.type, prompt.n_turns, prompt.has_reference


def _describe_purpose(purpose: tuple[JudgeType, int | None, bool]) -> str:
    type, n_turns, has_reference = purpose
    turns = "any number of turns" if n_turns is None else "1 turn" if n_turns == 1 else f"{n_turns} turns"
    return f"type {type!r}, {turns}, {'with' if has_reference else 'without'} reference answers"


def _prompt_problem(what: str, where: Origin) -> Problem:
    return Problem(
        "JUDGE-003", what, "correct the judge prompt file; docs/guides/judges.md describes its format", where
    )


class Conversation(NamedTuple):
    """The user's turns, with one answer each."""

    questions: tuple[str, ...]
    answers: tuple[str, ...]
    references: tuple[str | None, ...] = ()
    """Reference answers to the turns, None for an unknown one; empty if there are none."""

    @property
    def has_reference(self) -> bool:
        """Whether any turn has a reference answer."""
        return any(reference is not None for reference in self.references)

    def until(self, turn: int) -> Conversation:
        """Return the first `turn` turns."""
        return Conversation(self.questions[:turn], self.answers[:turn], self.references[:turn])


def transcript(questions: Sequence[str], answers: Sequence[str | None], speaker: str) -> str:
    """Return turns as one text; a turn without an answer is omitted."""
    return "\n\n".join(
        f"### User\n{question}\n\n### {speaker}\n{answer}"
        for question, answer in zip(questions, answers, strict=True)
        if answer is not None
    )
