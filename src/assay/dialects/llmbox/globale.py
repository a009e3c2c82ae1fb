"""GlobalE: find the order of examples in which the model's answers are distributed most evenly.

Based on Lu et al. 2022, "Fantastically Ordered Prompts and Where to Find Them". Every order of the examples
is tried on the same probes. An order that makes the model give the same answer to everything is bad, so the
order whose answers have the highest entropy wins. Right answers are not used.

Probes are rows of the pool or, as in the paper, texts that the model writes after the examples.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, permutations

from assay.core.errors import AuthorError
from assay.core.ids import make_random, rank
from assay.core.method import Method
from assay.core.request import METHOD_KINDS, Generate, Kind, Sampling
from assay.core.score import Score
from assay.core.task import Rehearse
from assay.dialects.llmbox.example_arguments import ExampleArguments
from assay.dialects.llmbox.formatted_dataset import FixedOrder, FormattedDataset
from assay.dialects.llmbox.formatting import Instance
from assay.dialects.llmbox.preliminary_tasks import (
    ProbeTask,
    build_rehearsal,
    find_comparable_rows,
    generate_texts,
)
from assay.dialects.llmbox.prompts import AFTER_EXAMPLE, PromptExamples, render_examples
from assay.dialects.llmbox.task import RequestSettings, SearchResult

_PROBE_TOKENS = 128
_PROBE_TEMPERATURE = 1.0


class GlobalE:
    """The search for the order of one method's examples."""

    def __init__(
        self,
        task: str,
        method: Method,
        prepared: FormattedDataset,
        asking: RequestSettings,
        arguments: ExampleArguments,
        *,
        seed: int,
    ) -> None:
        """Check that there are probes to try orders on."""
        self.name = f"globale_{method}"
        self._task = f"{task}#{self.name}"
        self._method = method
        self._prepared = prepared
        self._asking = asking
        self._seed = seed
        self._shots = prepared.common_examples
        self._orders = list(
            draw_orders(len(self._shots), arguments.globale_orders, make_random(seed, task, "globale"))
        )
        self._n_rows = arguments.globale_rows
        self._is_written = arguments.globale_probes == "generated"
        self._rows: FormattedDataset | None = None
        if self._is_written:
            self._check_options()
        else:
            self._rows = self._build_pool_probes()
        self.kinds = frozenset({Kind.GENERATE}) if self._is_written else frozenset({METHOD_KINDS[method]})

    def run(self, rehearse: Rehearse) -> SearchResult:
        """Try every order on every probe, and use the best one for the samples."""
        probes = self._rows if self._rows is not None else self._write_probes(rehearse)
        tasks = [
            build_rehearsal(
                ProbeTask,
                f"{self._task}.{number}",
                self._method,
                probes.copy_with(choice=self._build_choice(order), lead=self._prepared.lead),
                self._asking,
            )
            for number, order in enumerate(self._orders)
        ]
        results = rehearse(tasks)
        usable = find_comparable_rows(results, self._prepared.author, "globale")
        entropies = [entropy([scores[at] for at in usable]) for scores in results]
        best = max(range(len(entropies)), key=entropies.__getitem__)
        self._prepared.choice = self._build_choice(self._orders[best])
        rows = [self._shots[at] + 1 for at in self._orders[best]]
        chosen = {
            "rows_of_pool": rows,
            "entropy_bits": round(entropies[best], 6),
            "lowest_entropy_bits": round(min(entropies), 6),
            "n_orders": len(self._orders),
            "n_probes": len(usable),
        }
        note = (
            f"{self._method}: the examples are rows {', '.join(map(str, rows))} of the pool, in this order: "
            f"over {len(usable)} probes the entropy of the answers is {entropies[best]:.3f} bits, "
            f"the highest of {len(self._orders)} orders (lowest {min(entropies):.3f})"
        )
        return SearchResult(chosen, [note])

    def _build_choice(self, order: Sequence[int]) -> FixedOrder:
        """Return the examples in an order; further rows stay, for rows that are among the examples."""
        drawn = self._prepared.choice
        assert isinstance(drawn, FixedOrder)
        rest = drawn.order[len(self._shots) :]
        return FixedOrder([*(self._shots[at] for at in order), *rest], drops_last=drawn.drops_last)

    def _build_pool_probes(self) -> FormattedDataset:
        rows = list(islice(self._prepared.draw_spare_rows("globale"), self._n_rows))
        if not rows:
            n = len(self._prepared.dataset.example_data)
            raise AuthorError(
                self._prepared.author.problem(
                    "LLMBOX-007",
                    f"globale needs rows that are neither examples nor evaluated; the pool of {n:,} has none",
                    "use fewer --shots, or let the model write the probes: "
                    "--dataset-arg globale_probes=generated",
                )
            )
        return self._prepared.with_rows(rows)

    def _check_options(self) -> None:
        """Raise unless the examples define the options of questions that the model will write."""
        examples = [self._prepared.example(at, 0) for at in self._shots]
        first = examples[0].choices
        by_text = self._method == Method.PPL
        is_alike = all(
            row.choices == first if by_text else len(row.choices) == len(first) for row in examples
        )
        if first and is_alike:
            return
        what = "the same options" if by_text else "the same number of options"
        raise AuthorError(
            self._prepared.author.problem(
                "LLMBOX-007",
                f"globale can only let the model write probes if all examples have {what}",
                "remove --dataset-arg globale_probes=generated",
            )
        )

    def _write_probes(self, rehearse: Rehearse) -> FormattedDataset:
        """Return the model's texts after the examples, in each of their orders, as rows to probe with."""
        shots = [self._prepared.build_shot(at, place) for place, at in enumerate(self._shots)]
        before, after = find_shared_ends([shot.source for shot in shots])
        asks = []
        for number in range(self._n_rows):
            order = self._orders[number % len(self._orders)]
            prompt = render_examples(PromptExamples(tuple(shots[at] for at in order))) + before
            seed = rank(self._seed, self._task, str(number)) % (1 << 31)
            sampling = Sampling(_PROBE_TOKENS, _PROBE_TEMPERATURE, stop=(AFTER_EXAMPLE,), seed=seed)
            asks.append(Generate(prompt.rstrip() if before else prompt, sampling))
        texts = generate_texts(rehearse, self._task, asks, self._prepared.author, "globale")
        like = self._prepared.example(self._shots[0], 0)
        return self._prepared.copy_with_instances(
            [
                Instance((build_question(before, text, after),), None, like.options, like.choices)
                for text in texts
            ]
        )


def draw_orders(n: int, at_most: int, generator: random.Random) -> Iterator[tuple[int, ...]]:
    """Yield orders of n items, first the original one: all orders, or `at_most` different ones."""
    if math.factorial(n) <= at_most:
        yield from permutations(range(n))
        return
    order = tuple(range(n))
    seen: set[tuple[int, ...]] = set()
    while len(seen) < at_most:
        if order not in seen:
            seen.add(order)
            yield order
        order = tuple(generator.sample(range(n), n))


def entropy(scores: Sequence[Score]) -> float:
    """Return the entropy of the answers in bits; unanswered questions do not contribute."""
    counts = Counter(score.answer for score in scores if score.answer is not None)
    shares = (count / len(scores) for count in counts.values())
    return math.fsum(-share * math.log2(share) for share in shares)


def find_shared_ends(sources: Sequence[str]) -> tuple[str, str]:
    """Return the whole words with which all questions begin and end, with adjacent spaces."""
    before = _find_shared_start(sources)
    after = _find_shared_start([source[::-1] for source in sources])[::-1]
    begin = max((at + 1 for at, char in enumerate(before) if char.isspace()), default=0)
    end = next((at for at, char in enumerate(after) if char.isspace()), len(after))
    return before[:begin], after[end:]


def _find_shared_start(texts: Sequence[str]) -> str:
    """Return the common prefix of all texts."""
    columns = enumerate(zip(*texts, strict=False))
    shortest = min(map(len, texts))
    return texts[0][: next((at for at, chars in columns if len(set(chars)) > 1), shortest)]


def build_question(before: str, text: str, after: str) -> str:
    """Return the question in a model's text, with the ending of the examples' questions."""
    ending = after.strip()
    if ending and ending in text:
        text = text[: text.index(ending)].rstrip()
    return f"{before}{text.strip()}{after}"
