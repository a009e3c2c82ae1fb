"""The task of a config entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.prompt import Message, Prompt, Role, final_text, replace_final_text
from assay.core.request import Ask, Generate, Labels, Request, Sampling, Span, make_request
from assay.core.sample import Sample
from assay.core.task import ComponentSpec, TaskSpec
from assay.dialects.openicl.dataset_rows import Split
from assay.dialects.openicl.inferencing import Inference, TurnMode
from assay.dialects.openicl.multimodal_prompts import MultimodalPrompts
from assay.dialects.openicl.templates.templates import LabelledPrompt, Templates
from assay.dialects.shared.described_task import DescribedTask
from assay.dialects.shared.template import TemplateFailure

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "SYSTEM": "system",
    "user": "user",
    "HUMAN": "user",
    "human": "user",
    "assistant": "assistant",
    "BOT": "assistant",
    "gpt": "assistant",
}
_AFTER_TURN = "\n\n"


class UnreadableTurns(ValueError):
    """A row without a readable conversation."""


class RowConversation(NamedTuple):
    """The conversation of a row."""

    system: tuple[str, ...]
    users: tuple[str, ...]
    references: tuple[str | None, ...]
    """The reference answer to each turn, if the dataset has it."""


def read_conversation(value: Any) -> RowConversation:
    """Read a column: one text, a list with one text per turn, or messages with roles."""
    if isinstance(value, str):
        return RowConversation((), (value,), (None,))
    if not isinstance(value, Sequence) or not value:
        raise UnreadableTurns(f"found {value!r:.80}, expected a text, several texts, or messages with roles")
    if all(isinstance(one, str) for one in value):
        return RowConversation((), tuple(value), (None,) * len(value))
    messages = [_message(one) for one in value]
    users = [at for at, (role, _) in enumerate(messages) if role == "user"]
    if not users:
        raise UnreadableTurns("there is no user message")
    answers = [
        messages[at + 1][1] if at + 1 < len(messages) and messages[at + 1][0] == "assistant" else None
        for at in users
    ]
    system = tuple(text for role, text in messages if role == "system")
    return RowConversation(system, tuple(messages[at][1] for at in users), tuple(answers))


def _message(value: Any) -> tuple[Role, str]:
    role = value.get("role", value.get("from")) if isinstance(value, Mapping) else None
    text = value.get("content", value.get("value", value.get("prompt"))) if isinstance(value, Mapping) else ""
    if role not in _ROLES or not isinstance(text, str):
        raise UnreadableTurns(f"found the message {value!r:.80}, expected a 'role' and a 'content'")
    return _ROLES[cast(str, role)], text


def build_turn_requests(
    given: RowConversation, mode: TurnMode, sampling: Sampling, *, is_chat: bool
) -> list[Generate]:
    """Return the generation requests: all turns in one conversation, or each turn separately.

    `every`: the model's own answers precede a turn. `every_with_gt`: one request per turn, preceded by the
    right answers. `last`: only the last turn, preceded by the right answers.
    """
    if mode == "every":
        return [Generate(_prompt(given, 0, is_chat), sampling, tuple(given.users[1:]))]
    wanted = range(len(given.users)) if mode == "every_with_gt" else [len(given.users) - 1]
    return [Generate(_prompt(given, turn, is_chat), sampling) for turn in wanted]


def _prompt(given: RowConversation, turn: int, is_chat: bool) -> Prompt:
    """Return the prompt for one turn: the turns before it, with their right answers."""
    messages = [Message("system", text) for text in given.system]
    for number in range(turn):
        reference = given.references[number]
        if reference is None:
            raise UnreadableTurns(f"turn {number + 1} has no right answer, which the next turn needs")
        messages += [Message("user", given.users[number]), Message("assistant", reference)]
    messages.append(Message("user", given.users[turn]))
    return tuple(messages) if is_chat else _AFTER_TURN.join(message.text for message in messages)


_SHOWN_CHARS = 400
_MAX_TOKENS = "max_out_len"
"""The column with the maximum output length of each row."""


class RequestInputs(NamedTuple):
    """Everything needed to build a row's requests."""

    inference: Inference
    templates: Templates | MultimodalPrompts
    test: Split
    train: Split
    picked: Sequence[tuple[int, ...]]
    """For each row, the train rows that are its examples."""
    labels: Sequence[tuple[Any, ...]]
    """For each row, the labels to compare."""
    conversation: Callable[[Mapping[str, Any]], RowConversation]
    """Reads the turns of a row."""
    is_chat: bool
    is_whole: bool
    """Whether the whole text of an option's prompt is scored, not only the differing part."""
    keeps_spaces: bool
    """Whether a prompt may end in spaces, if the template does."""
    has_own_length: bool
    """Whether rows have their own maximum output length."""
    asks_one_by_one: bool = False
    """Whether several answers to a row are separate requests, which can fail independently."""


class ConfigTask(DescribedTask):
    """The task of one config entry."""

    def __init__(
        self,
        spec: TaskSpec,
        samples: Sequence[Sample],
        asking: RequestInputs,
        scorers: Sequence[ComponentSpec],
    ) -> None:
        super().__init__(spec)
        self._samples = samples
        self._asking = asking
        self._scorers = scorers

    def samples(self) -> Iterator[Sample]:
        """Yield the samples in row order."""
        return iter(self._samples)

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        """Return the requests for a row, with at most `shots` examples."""
        asking = self._asking
        number = asking.test.ids.number(sample.id)
        picked = asking.picked[number]
        shown = picked if shots is None else picked[:shots]
        counts = (len(shown), len(picked) - len(shown))
        track = asking.inference.method
        made = []
        examples = [asking.train.rows[at] for at in shown]
        for role, index, ask in self._asks(number, examples):
            shown_here = (0, 0) if role == "unconditional" else counts
            place = self._find_examples(ask, examples) if role == "option" else None
            made.append(make_request(self._spec.name, sample.id, track, role, index, ask, *shown_here, place))
        return made

    def preview_prompt(self, sample: Sample, method: Method) -> Prompt:
        """Return a row's prompt up to the answer, for display."""
        ask = self.requests(sample)[0].ask
        if isinstance(ask, Generate | Labels):
            return ask.prompt
        text = final_text(ask.prompt)
        if self._asking.inference.form == "options" and not ask.start:
            number = self._asking.test.ids.number(sample.id)
            shots = [self._asking.train.rows[at] for at in self._asking.picked[number]]
            label = self._asking.labels[number][0]
            labelled = self._asking.templates.render_label(self._asking.test.rows[number], shots, label)
            ask = Span(ask.prompt, labelled.start)
        if not ask.start:
            more = f" ... ({len(text):,} characters)" if len(text) > _SHOWN_CHARS else ""
            return replace_final_text(ask.prompt, text[:_SHOWN_CHARS] + more)
        before = replace_final_text(ask.prompt, text[: ask.start])
        return before if isinstance(before, str) or final_text(before) else before[:-1]

    def troubles(self) -> Iterator[tuple[Origin, str]]:
        """Yield the rows and examples whose prompt cannot be rendered, with the reason."""
        asking = self._asking
        for number, origin in enumerate(asking.test.origins):
            try:
                for _ in self._asks(number, ()):
                    pass
            except TemplateFailure as error:
                yield origin, str(error)
        for at in sorted({at for picked in asking.picked for at in picked}):
            try:
                for _ in self._asks(0, (asking.train.rows[at],)):
                    pass
            except TemplateFailure as error:
                yield asking.train.origins[at], f"as an example: {error}"

    def scorers(self) -> Sequence[ComponentSpec]:
        """Return the scorer, with the evaluation settings of the config."""
        return self._scorers

    def _find_examples(self, ask: Ask, shots: Sequence[Mapping[str, Any]]) -> tuple[int, int] | None:
        templates = self._asking.templates
        return templates.find_examples(ask.prompt, shots) if isinstance(templates, Templates) else None

    def _asks(self, number: int, shots: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, int, Ask]]:
        asking = self._asking
        row, inference, templates = asking.test.rows[number], asking.inference, asking.templates
        match inference.form:
            case "answer":
                prompt, sampling = (
                    self._strip_end(templates.generation(row, shots)),
                    self._build_sampling(row),
                )
                n = sampling.n if asking.asks_one_by_one else 1
                one = msgspec.structs.replace(sampling, n=1) if n > 1 else sampling
                for repeat in range(n):
                    yield "answer", repeat, Generate(prompt, one)
            case "chat":
                yield from self._build_chat_asks(row)
            case "choices":
                prompt = templates.generation(row, shots)
                labels = tuple((f" {label}", str(label)) for label in asking.labels[number])
                yield "labels", 0, Labels(self._strip_end(prompt), labels)
            case "text":
                yield "text", 0, Span(templates.generation(row, shots), 0, scores_first_token=False)
            case "continuation":
                for index, label in enumerate(asking.labels[number]):
                    yield "option", index, _build_continuation(templates.render_label(row, shots, label), row)
            case "options":
                for index, label in enumerate(asking.labels[number]):
                    yield from self._option(index, templates.render_label(row, shots, label))

    def _build_chat_asks(self, row: Mapping[str, Any]) -> Iterator[tuple[str, int, Ask]]:
        asking, sampling = self._asking, self._build_sampling(row)
        one = msgspec.structs.replace(sampling, n=1)
        conversation = asking.conversation(row)
        asks = build_turn_requests(conversation, asking.inference.turn_mode, one, is_chat=asking.is_chat)
        for repeat in range(sampling.n):
            for turn, ask in enumerate(asks):
                yield "answer", repeat * len(asks) + turn, ask

    def _option(self, index: int, labelled: LabelledPrompt) -> Iterator[tuple[str, int, Ask]]:
        asking = self._asking
        prompt, start, separated = labelled
        normalizer = asking.inference.normalizing_str
        if normalizer is not None:
            start = start if separated is None else separated
            yield "option", index, Span(prompt, start)
            text = normalizer + final_text(prompt)[start:]
            yield "unconditional", index, Span(text, len(normalizer))
        elif asking.is_whole and isinstance(prompt, str):
            # The first token has no context, and the originals do not score it.
            yield "option", index, Span(prompt, 0, scores_first_token=False)
        else:
            yield "option", index, Span(prompt, start)

    def _strip_end(self, prompt: Prompt) -> Prompt:
        """Return a prompt without trailing spaces, unless it must equal the original's."""
        if not isinstance(prompt, str) or self._asking.keeps_spaces:
            return prompt
        # Tokenizers attach a space to the following word; a trailing space would prevent that token.
        return prompt.rstrip(" ") or prompt

    def _build_sampling(self, row: Mapping[str, Any]) -> Sampling:
        sampling = self._asking.inference.sampling
        if not self._asking.has_own_length:
            return sampling
        return msgspec.structs.replace(sampling, max_tokens=int(row[_MAX_TOKENS]))


def _build_continuation(labelled: LabelledPrompt, row: Mapping[str, Any]) -> Span:
    """Return the request that scores the continuation of a label, which the template may already contain."""
    prompt, continuation = labelled.prompt, str(row["cont"])
    text = final_text(prompt)
    # Search from where labels differ, because earlier text such as examples may contain the same words.
    start = text.rfind(continuation, labelled.start) if continuation else -1
    if start >= 0:
        return Span(prompt, start)
    return Span(replace_final_text(prompt, text + continuation), len(text))
