"""An author's object with all its rows formatted, for one evaluation method."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from assay.core.errors import AuthorError, Problems
from assay.core.ids import draw
from assay.dialects.llmbox.authoring import NO_LIMIT, Dataset
from assay.dialects.llmbox.calling import Author, Trouble, drawing
from assay.dialects.llmbox.formatting import Instance, Shape, format_row
from assay.dialects.llmbox.instruction import compile_instruction, environment
from assay.dialects.llmbox.library.conversation import Conversation
from assay.dialects.llmbox.prompts import AFTER_EXAMPLE, Shot, Shown, example_text

TWIN = "-"
"""What parts the name of a row's content from its number among equal rows."""
ORIGINAL_SEED = 2023
"""What the original seeds its generators with."""


class Prepared:
    """Rows formatted once, and the examples that stand before each."""

    def __init__(
        self,
        dataset: Dataset,
        author: Author,
        ids: list[str],
        example_ids: list[str],
        *,
        task: str,
        seed: int,
        is_faithful: bool,
        numbers: Sequence[int],
    ) -> None:
        """Format all rows.

        `ids` and `example_ids` name the raw rows by content, in order; `numbers` says which rows of the whole
        dataset they are, counted from 0.
        """
        self.dataset = dataset
        self.author = author
        self._ids = ids
        self._example_ids = example_ids
        self._task = task
        self._seed = seed
        self._is_faithful = is_faithful
        self.numbers = numbers
        _part(dataset)
        if is_faithful:
            globals_ = dataset.jinja2_env.globals
            dataset.jinja2_env = environment(is_lenient=True)
            dataset.jinja2_env.globals.update(globals_)
        self._draws = author.draws
        with author.calling("instruction"):
            self._shape = Shape(
                compile_instruction(getattr(dataset, "instruction", None), dataset.jinja2_env), is_faithful
            )
        self._order = self._shot_order()
        self.n_shots = min(dataset.max_num_shots, len(self._order))
        self._builds_own = type(dataset).construct_examples is not Dataset.construct_examples
        dataset._examples = self._conversation
        dataset.real_num_shots = self.n_shots
        self._example = lru_cache(maxsize=256)(self._formatted_example)
        # Most rows are shown the same examples: tokens are counted once for them.
        self._n_fitting = lru_cache(maxsize=256)(self._count_fitting)
        self.instances = self._formatted()
        self._row_of = {id(row): number for number, row in enumerate(dataset.evaluation_data)}
        self.index = {sample_id: number for number, sample_id in enumerate(ids)}
        dataset.option_nums = [
            len(one.sources) if one.has_contexts else len(one.options) for one in self.instances
        ]
        # What is wrong with the examples is said now, and not when the model is asked.
        self.shown(0)

    def shown(self, number: int) -> Shown:
        """Return the examples before a row."""
        if not self.dataset.max_num_shots:
            return Shown()
        if self._builds_own:
            return self._own_examples(number)
        return self._fitted(self._shots(number))

    def _shots(self, number: int | None) -> list[Shot]:
        """Return the examples for a row: the same for all; a row among them sees the next instead."""
        chosen: list[Shot] = []
        for at in self._order:
            if len(chosen) == self.n_shots:
                break
            shot = self._example(at, len(chosen))
            if number is None or self._is_faithful or not self._gives_away(at, shot, number):
                chosen.append(shot)
        return chosen

    def _gives_away(self, at: int, shot: Shot, number: int) -> bool:
        """Whether an example is the row itself: the same data, or the same question with the same answer."""
        row = self.instances[number]
        is_same = self._example_ids[at] == self._ids[number].partition(TWIN)[0]
        return is_same or (row.target in (None, shot.target) and shot.source in row.sources)

    def _shot_order(self) -> list[int]:
        """Return the rows of the pool in the order in which they are drawn."""
        n, wanted = len(self.dataset.example_data), self.dataset.max_num_shots
        if not wanted:
            return []
        if self._is_faithful and n > wanted:
            return [int(at) for at in np.random.RandomState(ORIGINAL_SEED).choice(n, wanted, replace=False)]
        order = list(range(n))
        if n > wanted:
            draw(self._seed, self._task, "shots").shuffle(order)
        return order

    def _formatted(self) -> list[Instance]:
        troubles: dict[Trouble, list[int]] = {}
        instances: list[Instance] = []
        dataset = self.dataset
        n_shots = dataset.real_num_shots
        with drawing(self._seed, self._task) as seed_for:
            for number, (row, sample_id) in enumerate(zip(dataset.evaluation_data, self._ids, strict=True)):
                if self._draws:
                    seed_for(sample_id)
                try:
                    instances.append(format_row(dataset, row, self._shape, real_num_shots=n_shots))
                except AuthorError:
                    raise
                except Exception as error:  # noqa: BLE001 (an author's code may raise anything; raised below)
                    trouble = self.author.trouble(error, "format_instance", tuple(row))
                    troubles.setdefault(trouble, []).append(self.numbers[number] + 1)
        problems = Problems()
        for trouble, rows in troubles.items():
            problems.add(self.author.problem(*trouble, rows=rows))
        problems.raise_if_any()
        return instances

    def _formatted_example(self, at: int, place: int) -> Shot:
        row = copy.deepcopy(self.dataset.example_data[at])
        name = self._example_ids[at]
        with self.author.calling("format_instance", row=at + 1), drawing(self._seed, self._task, name):
            one = format_row(
                self.dataset, row, self._shape, example_idx=place, real_num_shots=self.dataset.real_num_shots
            )
        return Shot(one.sources[0], one.target or "")

    def _fitted(self, shots: list[Shot]) -> Shown:
        """Leave out whole examples beyond the tokens that a person allowed for them."""
        if self.dataset.max_example_tokens >= NO_LIMIT:
            return Shown(tuple(shots))
        kept = self._n_fitting(tuple(shots))
        return Shown(tuple(shots[:kept]), n_left_out=len(shots) - kept)

    def _count_fitting(self, shots: tuple[Shot, ...]) -> int:
        kept, text = 0, ""
        for shot in shots:
            text += example_text(shot)
            if self.dataset.prompt_token_nums(text) > self.dataset.max_example_tokens:
                break
            kept += 1
        return kept

    def _conversation(self, instance: Mapping[str, Any] | None) -> Conversation:
        """Return the examples as the author's own construct_examples expects them from its base class."""
        number = None if instance is None else self._row_of.get(id(instance))
        made = Conversation()
        for shot in self._fitted(self._shots(number)).shots:
            made.add_(user=shot.source, assistant=shot.target)
        return made

    def _own_examples(self, number: int) -> Shown:
        row = self.dataset.evaluation_data[number]
        with (
            self.author.calling("construct_examples", row=self.numbers[number] + 1),
            drawing(self._seed, self._task, "examples"),
        ):
            made: Any = self.dataset.construct_examples(row)
        if isinstance(made, str):
            text = made if not made or made[-1].isspace() else made + AFTER_EXAMPLE
            return Shown(preface=text)
        if not isinstance(made, Conversation):
            raise self._bad_examples(type(made).__name__)
        messages = [*made.messages]
        roles = [message["role"] for message in messages]
        if roles != ["user", "assistant"] * (len(messages) // 2):
            raise self._bad_examples(f"messages of the roles {roles}")
        pairs = zip(messages[::2], messages[1::2], strict=True)
        return Shown(tuple(Shot(user["content"], assistant["content"]) for user, assistant in pairs))

    def _bad_examples(self, seen: str) -> AuthorError:
        return AuthorError(
            self.author.problem(
                "LLMBOX-003",
                f"construct_examples returned {seen}",
                "return a Conversation of pairs of a user's and an assistant's message, or one text",
            )
        )


def _part(dataset: Dataset) -> None:
    """Give the examples rows of their own where they are the evaluation rows, which formatting changes."""
    shared = {id(row) for row in dataset.evaluation_data}
    dataset.example_data = [copy.deepcopy(row) if id(row) in shared else row for row in dataset.example_data]
