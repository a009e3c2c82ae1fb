"""APE: let the model find an instruction.

Based on Zhou et al. 2023, "Large Language Models Are Human-Level Prompt Engineers". The model sees a few
solved rows and guesses the instruction behind them, several times with different rows. Each guess is tried on
separate rows of the pool, and the one with the best result becomes the dataset's instruction. It comes before
the examples and the question.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from assay.core.errors import AuthorError
from assay.core.ids import make_random, rank
from assay.core.method import Method
from assay.core.prompt import Message, Prompt
from assay.core.request import Generate, Kind, Sampling
from assay.core.score import Score
from assay.core.task import Rehearse
from assay.dialects.llmbox.example_arguments import ExampleArguments
from assay.dialects.llmbox.formatted_dataset import FormattedDataset
from assay.dialects.llmbox.preliminary_tasks import (
    TargetTask,
    build_rehearsal,
    build_search_error,
    find_comparable_rows,
    generate_texts,
)
from assay.dialects.llmbox.prompts import Shot
from assay.dialects.llmbox.task import ClassTask, RequestSettings, SearchResult

_SAMPLING = Sampling(max_tokens=64, temperature=0.9, top_p=0.9, stop=("\nInput:",))
_QUOTES = "\"'`“”‘’«» "


class Ape:
    """The search for an instruction. Each method uses the proposal with its best result."""

    name = "ape"

    def __init__(
        self,
        task: str,
        prepared: Mapping[Method, FormattedDataset],
        asking: RequestSettings,
        arguments: ExampleArguments,
        *,
        seed: int,
    ) -> None:
        """Reserve rows, and check that there are enough."""
        self._task = f"{task}#ape"
        self._prepared = prepared
        self._asking = asking
        self._seed = seed
        self._n_proposals = arguments.ape_proposals
        self._n_examples = arguments.ape_examples
        self._first = next(iter(prepared.values()))
        self._author = self._first.author
        self._is_free = self._first.dataset.evaluation_type == "generation"
        rows, self._examples = self._split_pool(arguments)
        self._rows = {method: dataset.with_rows(rows) for method, dataset in prepared.items()}
        self._check_targets()
        self.kinds = frozenset({Kind.GENERATE, Kind.SPAN} if self._is_free else {Kind.GENERATE})

    def run(self, rehearse: Rehearse) -> SearchResult:
        """Let the model propose instructions, compare them, and put the best one before every prompt."""
        proposals = generate_texts(
            rehearse, self._task, self._asks(), self._author, "ape", clean=clean_instruction
        )
        chosen: dict[str, Any] = {}
        notes = []
        for method, rows in self._rows.items():
            values, n_rows = self._values(method, rows, proposals, rehearse)
            best = max(range(len(values)), key=values.__getitem__)
            self._prepared[method].lead = format_lead(proposals[best])
            by = self._describe_measure(rows)
            chosen[method] = {
                "instruction": proposals[best],
                "by": by,
                "value": round(values[best], 6),
                "lowest_value": round(min(values), 6),
                "n_proposals": len(proposals),
                "n_rows": n_rows,
            }
            among = f"the best of {len(values)} proposals (lowest {min(values):.3f})"
            notes.append(
                f"{method}: the best instruction is {proposals[best]!r}: {by} {values[best]:.3f} on "
                f"{n_rows} reserved rows, {among if len(values) > 1 else 'the only proposal'}"
            )
        return SearchResult(chosen, notes)

    def _split_pool(self, arguments: ExampleArguments) -> tuple[list[int], list[int]]:
        """Return rows of the pool for comparing proposals, and others for making proposals."""
        examples = list(self._first.filter_unevaluated(self._first.common_examples))
        wanted = arguments.ape_rows + arguments.ape_proposals * arguments.ape_examples
        spare = list(islice(self._first.draw_spare_rows("ape"), wanted))
        # Rows that all prompts show cannot be used for comparison, but for proposals.
        n_rows = min(arguments.ape_rows, len(spare) - max(0, arguments.ape_examples - len(examples)))
        if n_rows < 1:
            n = len(self._first.dataset.example_data)
            raise AuthorError(
                self._author.problem(
                    "LLMBOX-007",
                    f"ape needs {arguments.ape_examples} rows of the pool for proposals and others to "
                    f"compare; of {n:,} rows, {len(spare):,} are neither examples nor evaluated",
                    "set an example_set with more rows, or use --dataset-arg ape_examples=1",
                )
            )
        return spare[:n_rows], [*spare[n_rows:], *examples]

    def _check_targets(self) -> None:
        for dataset in self._rows.values() if self._is_free else ():
            if any(row.target is None for row in dataset.instances):
                raise AuthorError(
                    self._author.problem(
                        "LLMBOX-004",
                        "ape compares likelihoods of the right answer, but format_instance returns no target",
                        "return target=... for every row, or omit ape",
                    )
                )

    def _asks(self) -> list[Generate]:
        """Return the asks for proposals, each with different rows and another seed."""
        asks = []
        for number in range(self._n_proposals):
            generator = make_random(self._seed, self._task, str(number))
            rows = generator.sample(self._examples, min(self._n_examples, len(self._examples)))
            seed = rank(self._seed, self._task, str(number)) % (1 << 31)
            prompt = build_proposal_prompt(
                [self._first.build_shot(at, 0) for at in rows], is_chat=self._asking.is_chat
            )
            asks.append(Generate(prompt, msgspec.structs.replace(_SAMPLING, seed=seed)))
        return asks

    def _values(
        self, method: Method, rows: FormattedDataset, proposals: Sequence[str], rehearse: Rehearse
    ) -> tuple[list[float], int]:
        """Return the result of each proposal for a method, and the number of rows compared."""
        kind = TargetTask if self._is_free else ClassTask
        tasks = [
            build_rehearsal(
                kind,
                f"{self._task}.{method}.{number}",
                method,
                rows.copy_with(lead=format_lead(proposal)),
                self._asking,
            )
            for number, proposal in enumerate(proposals)
        ]
        results = rehearse(tasks)
        usable = find_comparable_rows(results, self._author, "ape")
        if not any(scores[at].value is not None for scores in results for at in usable):
            why = f"{self._describe_measure(rows)} has no values per sample to compare instructions"
            raise build_search_error(self._author, "ape", f"{why}; set `last_score_lists` in the metric")
        sign = 1.0 if self._is_free or _is_higher_better(rows) else -1.0
        return [sign * _mean([scores[at] for at in usable]) for scores in results], len(usable)

    def _describe_measure(self, rows: FormattedDataset) -> str:
        """Return the measure by which proposals are compared, in words."""
        if self._is_free:
            return "mean log-likelihood of the answer"
        metric = type(rows.dataset.metrics[0]).__name__ if rows.dataset.metrics else "share of right answers"
        return metric if _is_higher_better(rows) else f"minus {metric}"


def build_proposal_prompt(shots: Sequence[Shot], *, is_chat: bool) -> Prompt:
    """Return the prompt that shows inputs with their outputs and asks for the instruction behind them."""
    pairs = "\n\n".join(f"Input: {shot.source}\nOutput: {shot.target}" for shot in shots)
    question = (
        "Someone was given an instruction together with some inputs, and followed it to write an output for "
        f"each input. These are the inputs and the outputs:\n\n{pairs}\n\n"
    )
    if is_chat:
        return (Message("user", f"{question}What was the instruction? Reply with the instruction alone."),)
    return f"{question}The instruction was:"


def clean_instruction(text: str) -> str:
    """Return the instruction in the model's text: its first line, without quotation marks."""
    first = text.strip().partition("\n")[0]
    return first.strip(_QUOTES)


def format_lead(instruction: str) -> str:
    """Return an instruction as it appears before a prompt."""
    return f"Instruction: {instruction}"


def _is_higher_better(rows: FormattedDataset) -> bool:
    return all(getattr(metric, "higher_is_better", True) for metric in rows.dataset.metrics[:1])


def _mean(scores: Sequence[Score]) -> float:
    """Return the mean; an unanswered question counts as 0."""
    return math.fsum(score.value or 0.0 for score in scores) / len(scores)
