"""An author's object with all its rows formatted, for one evaluation method."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np

from assay.core.errors import RAISED_BY_AUTHORS, AuthorError, Problems, reraise_interrupt
from assay.core.ids import make_random
from assay.dialects.llmbox.authoring import NO_LIMIT, Dataset
from assay.dialects.llmbox.calling import DatasetAuthor
from assay.dialects.llmbox.formatting import Instance, RowFormat, format_row
from assay.dialects.llmbox.instruction import build_environment, compile_instruction
from assay.dialects.llmbox.library.conversation import Conversation
from assay.dialects.llmbox.prompts import AFTER_EXAMPLE, PromptExamples, Shot, render_example
from assay.dialects.shared.author_draws import seeded_draws
from assay.dialects.shared.class_author import HookProblem
from assay.dialects.shared.fewshot import normalize_question
from assay.dialects.shared.row_names import get_content_hash, name_rows


class ExampleChoice(Protocol):
    """A way of selecting examples."""

    drops_last: bool
    """Whether, if a prompt is too long, the examples nearest to the question are dropped first."""
    is_reversed: bool
    """Whether the most preferred example comes last, next to the question."""

    def rank_pool(self, number: int) -> Iterable[int]:
        """Yield rows of the pool for a row of the evaluation, the most preferred first."""

    def __hash__(self) -> int:
        """Distinguish choices by identity."""


class FixedOrder:
    """The same examples in the same order for every row."""

    is_reversed = False

    def __init__(self, order: Sequence[int], *, drops_last: bool = False) -> None:
        self.order = order
        self.drops_last = drops_last

    def rank_pool(self, number: int) -> Iterable[int]:
        """Return the order."""
        return self.order


ORIGINAL_SEED = 2023
"""The default seed of the original."""


ChoiceFactory = Callable[["FormattedDataset"], ExampleChoice]


class _SharedExamples(NamedTuple):
    """Examples that most rows share, and the contents that a row must not have in common with them."""

    rows: tuple[int, ...]
    contents: frozenset[str]
    words: frozenset[str]


class FormattedDataset:
    """Rows formatted once, with the examples before each."""

    def __init__(
        self,
        dataset: Dataset,
        author: DatasetAuthor,
        ids: list[str],
        example_ids: list[str],
        *,
        task: str,
        seed: int,
        is_faithful: bool,
        numbers: Sequence[int],
        choose: ChoiceFactory | None = None,
        generator: np.random.RandomState | None = None,
    ) -> None:
        """Format all rows.

        `ids` and `example_ids` identify the raw rows by content, in order; `numbers` are their row numbers in
        the whole dataset, counted from 0. `choose` selects the examples before a row; without it, all rows
        get the same drawn ones. `generator` draws them in faithful mode and may have drawn before.
        """
        self.dataset = dataset
        self.author = author
        self._ids = ids
        self._example_ids = example_ids
        self._task = task
        self._seed = seed
        self._is_faithful = is_faithful
        self.numbers = numbers
        _copy_shared_rows(dataset)
        if is_faithful:
            globals_ = dataset.jinja2_env.globals
            dataset.jinja2_env = build_environment(is_lenient=True)
            dataset.jinja2_env.globals.update(globals_)
        self._draws = author.draws
        with author.convert_errors("instruction"):
            self._shape = RowFormat(
                compile_instruction(getattr(dataset, "instruction", None), dataset.jinja2_env), is_faithful
            )
        self._order = self._shot_order(generator or np.random.RandomState(seed))
        self.n_shots = min(dataset.max_num_shots, len(self._order))
        self._builds_own = type(dataset).construct_examples is not Dataset.construct_examples
        dataset._examples = self._conversation
        dataset.real_num_shots = self.n_shots
        self.example = lru_cache(maxsize=256)(self._format_example)
        self._asked_by = lru_cache(maxsize=None)(lambda at: _collect_example_questions(self.example(at, 0)))
        self._words_of = lru_cache(maxsize=None)(
            lambda at: frozenset(words for words, _ in self._asked_by(at))
        )
        # Most rows get the same examples, so build and count them once.
        self._cached_examples = lru_cache(maxsize=256)(self._build_examples)
        self._usual_of = lru_cache(maxsize=64)(self._find_shared_examples)
        self.instances = self._format_rows()
        self._row_of = {id(row): number for number, row in enumerate(dataset.evaluation_data)}
        self.index = {sample_id: number for number, sample_id in enumerate(ids)}
        dataset.option_nums = [
            len(row.sources) if row.has_contexts else len(row.options) for row in self.instances
        ]
        self._choose = choose
        drawn = FixedOrder(self._order, drops_last=is_faithful)
        self.choice: ExampleChoice = drawn if choose is None else choose(self)
        """Selects the examples before a row."""
        self.lead = ""
        """Text before the examples and the question: an instruction found for the dataset."""
        if choose is None:
            # Report problems of the examples now instead of during the run.
            self.get_examples(0)

    def get_examples(self, number: int) -> PromptExamples:
        """Return the examples before a row."""
        if not self.dataset.max_num_shots:
            return PromptExamples()
        if self._builds_own:
            return self._call_construct_examples(number)
        return self._cached_examples(self._choose_examples(number), self.choice.is_reversed)

    def build_shot(self, at: int, place: int) -> Shot:
        """Return a row of the pool as the example at some position of a prompt."""
        row = self.example(at, place)
        return Shot(row.sources[0], row.target or "")

    @property
    def questions(self) -> list[str]:
        """The rendered questions of the rows."""
        return ["\n".join(row.sources) for row in self.instances]

    def pool_questions(self) -> list[str]:
        """Return the rendered questions of the whole pool; formats every row of it."""
        return ["\n".join(self.example(at, 0).sources) for at in range(len(self.dataset.example_data))]

    def copy_with(self, *, choice: ExampleChoice | None = None, lead: str | None = None) -> FormattedDataset:
        """Return the same rows with other examples or another instruction before them."""
        other = copy.copy(self)
        other.choice = self.choice if choice is None else choice
        other.lead = self.lead if lead is None else lead
        return other

    def with_rows(self, rows: Sequence[int]) -> FormattedDataset:
        """Return the same dataset with rows of its pool instead of the rows to evaluate."""
        dataset = copy.copy(self.dataset)
        for name in list(vars(dataset)):
            attribute = getattr(type(dataset), name, None)
            # Values that the author computed from the rows to evaluate must be computed again.
            if isinstance(attribute, cached_property) or name in ("references", "reference"):
                delattr(dataset, name)
        dataset.evaluation_data = [copy.deepcopy(self.dataset.example_data[at]) for at in rows]
        ids = name_rows([self._example_ids[at] for at in rows])
        prepared = FormattedDataset(
            dataset,
            self.author,
            ids,
            self._example_ids,
            task=self._task,
            seed=self._seed,
            is_faithful=self._is_faithful,
            numbers=rows,
            choose=self._choose,
        )
        prepared.lead = self.lead
        return prepared

    def copy_with_instances(self, instances: Sequence[Instance]) -> FormattedDataset:
        """Return the same dataset with other rows that are already formatted."""
        other = copy.copy(self)
        other.instances = list(instances)
        other._ids = [str(number) for number in range(len(instances))]
        other.index = {name: number for number, name in enumerate(other._ids)}
        return other

    @property
    def common_examples(self) -> list[int]:
        """The rows of the pool that are every row's examples; empty if each row has its own."""
        return list(self.choice.order[: self.n_shots]) if isinstance(self.choice, FixedOrder) else []

    def filter_unevaluated(self, rows: Iterable[int]) -> Iterator[int]:
        """Yield the rows of the pool that do not ask an evaluated question."""
        contents = set(map(get_content_hash, self._ids))
        asked = frozenset[_Question]().union(*map(_collect_questions, self.instances))
        for at in rows:
            if self._example_ids[at] not in contents and asked.isdisjoint(self._asked_by(at)):
                yield at

    def draw_spare_rows(self, purpose: str) -> Iterator[int]:
        """Yield rows of the pool in random order, without common examples and evaluated questions."""
        example_ids = {self._example_ids[at] for at in self.common_examples}
        asked = frozenset[_Question]().union(*map(self._asked_by, self.common_examples))
        order = list(range(len(self._example_ids)))
        make_random(self._seed, self._task, purpose).shuffle(order)
        for at in self.filter_unevaluated(order):
            if self._example_ids[at] not in example_ids and asked.isdisjoint(
                _collect_questions(self.example(at, 0))
            ):
                yield at

    def _build_examples(self, chosen: Sequence[int], is_reversed: bool) -> PromptExamples:
        """Return rows of the pool as examples; `chosen` has the most preferred one first."""
        places = range(len(chosen))[:: -1 if is_reversed else 1]
        shots = [self.build_shot(at, place) for at, place in zip(chosen, places, strict=True)]
        n_fitting = self._count_fitting(shots)
        return PromptExamples(
            tuple(shots[:n_fitting][:: -1 if is_reversed else 1]), n_left_out=len(shots) - n_fitting
        )

    def _choose_examples(self, number: int) -> tuple[int, ...]:
        """Return the rows of the pool that are shown before a row."""
        if self._is_faithful:
            return tuple(islice(self.choice.rank_pool(number), self.n_shots))
        content, row = get_content_hash(self._ids[number]), self.instances[number]
        words = {normalize_question(source) for source in row.sources}
        usual = self._usual_of(self.choice)
        if usual is not None and content not in usual.contents and words.isdisjoint(usual.words):
            return usual.rows
        return tuple(islice(self._list_other_rows(number, content, words), self.n_shots))

    def _list_other_rows(self, number: int, content: str, words: Set[str]) -> Iterator[int]:
        """Yield the pool in order of preference for a row, without the row itself and equal questions."""
        row = self.instances[number]
        for at in self.choice.rank_pool(number):
            # Different words are a different question, so most rows need no closer check.
            is_other = words.isdisjoint(self._words_of(at)) or _collect_questions(row).isdisjoint(
                self._asked_by(at)
            )
            if self._example_ids[at] != content and is_other:
                yield at

    def _find_shared_examples(self, choice: ExampleChoice) -> _SharedExamples | None:
        """Return the examples that nearly all rows get, if there is one order for all rows."""
        if not isinstance(choice, FixedOrder):
            return None
        rows = tuple(choice.order[: self.n_shots])
        words = frozenset[str]().union(*map(self._words_of, rows))
        return _SharedExamples(rows, frozenset(self._example_ids[at] for at in rows), words)

    def _shot_order(self, generator: np.random.RandomState) -> list[int]:
        """Return the rows of the pool in the order in which they are drawn."""
        n, wanted = len(self.dataset.example_data), self.dataset.max_num_shots
        if not wanted:
            return []
        if self._is_faithful and n > wanted:
            return [int(at) for at in generator.choice(n, wanted, replace=False)]
        order = list(range(n))
        if n > wanted:
            make_random(self._seed, self._task, "shots").shuffle(order)
        return order

    def _format_rows(self) -> list[Instance]:
        troubles: dict[HookProblem, list[int]] = {}
        instances: list[Instance] = []
        dataset = self.dataset
        n_shots = dataset.real_num_shots
        with seeded_draws(self._seed, self._task) as seed_for:
            for number, (row, sample_id) in enumerate(zip(dataset.evaluation_data, self._ids, strict=True)):
                if self._draws:
                    seed_for(sample_id)
                try:
                    instances.append(format_row(dataset, row, self._shape, real_num_shots=n_shots))
                except AuthorError:
                    raise
                except RAISED_BY_AUTHORS as error:
                    reraise_interrupt(error)
                    trouble = self.author.explain_error(error, "format_instance", tuple(row))
                    troubles.setdefault(trouble, []).append(self.numbers[number] + 1)
        problems = Problems()
        for trouble, rows in troubles.items():
            problems.add(self.author.problem(*trouble, rows=rows))
        problems.raise_if_any()
        return instances

    def _format_example(self, at: int, place: int) -> Instance:
        row = copy.deepcopy(self.dataset.example_data[at])
        name = self._example_ids[at]
        with (
            self.author.convert_errors("format_instance", row=at + 1),
            seeded_draws(self._seed, self._task, name),
        ):
            return format_row(
                self.dataset, row, self._shape, example_idx=place, real_num_shots=self.dataset.real_num_shots
            )

    def _count_fitting(self, shots: Sequence[Shot]) -> int:
        """Return how many examples fit into the tokens allowed for them."""
        if self.dataset.max_example_tokens == NO_LIMIT:
            return len(shots)
        n_fitting, text = 0, ""
        for shot in shots:
            text += render_example(shot)
            if self.dataset.prompt_token_nums(text) > self.dataset.max_example_tokens:
                break
            n_fitting += 1
        return n_fitting

    def _conversation(self, instance: Mapping[str, Any] | None) -> Conversation:
        """Return the examples as the author's construct_examples expects them from its base class."""
        number = None if instance is None else self._row_of.get(id(instance))
        chosen = tuple(self._order[: self.n_shots]) if number is None else self._choose_examples(number)
        conversation = Conversation()
        for shot in self._cached_examples(chosen, self.choice.is_reversed).shots:
            conversation.add_(user=shot.source, assistant=shot.target)
        return conversation

    def _call_construct_examples(self, number: int) -> PromptExamples:
        row = self.dataset.evaluation_data[number]
        with (
            self.author.convert_errors("construct_examples", row=self.numbers[number] + 1),
            seeded_draws(self._seed, self._task, "examples"),
        ):
            examples: Any = self.dataset.construct_examples(row)
        if isinstance(examples, str):
            text = examples if not examples or examples[-1].isspace() else examples + AFTER_EXAMPLE
            return PromptExamples(preface=text)
        if not isinstance(examples, Conversation):
            raise self._build_examples_error(type(examples).__name__)
        messages = [*examples.messages]
        roles = [message["role"] for message in messages]
        if roles != ["user", "assistant"] * (len(messages) // 2):
            raise self._build_examples_error(f"messages of the roles {roles}")
        pairs = zip(messages[::2], messages[1::2], strict=True)
        return PromptExamples(tuple(Shot(user["content"], assistant["content"]) for user, assistant in pairs))

    def _build_examples_error(self, seen: str) -> AuthorError:
        return AuthorError(
            self.author.problem(
                "LLMBOX-003",
                f"construct_examples returned {seen}",
                "return a Conversation of pairs of a user and an assistant message, or one text",
            )
        )


def _copy_shared_rows(dataset: Dataset) -> None:
    """Copy example rows that are also evaluation rows, because formatting changes those."""
    shared = {id(row) for row in dataset.evaluation_data}
    dataset.example_data = [copy.deepcopy(row) if id(row) in shared else row for row in dataset.example_data]


_Question = tuple[str, frozenset[str]]
"""A question, and what it is about: the options, or the right answer."""


def _collect_questions(row: Instance) -> frozenset[_Question]:
    """Return the questions of a row in a form that is equal for rows with the same question.

    The words alone are not enough: many datasets ask `Which is right?` in all rows.
    """
    about = row.choices if row.choices and not row.has_contexts else (row.target,)
    known = frozenset(normalize_question(text) for text in about if text is not None)
    return frozenset((normalize_question(source), known) for source in row.sources)


def _collect_example_questions(row: Instance) -> frozenset[_Question]:
    """Return the questions of an example, which also reveals rows with the same words and a hidden answer."""
    return _collect_questions(row) | {
        (normalize_question(source), frozenset[str]()) for source in row.sources
    }
