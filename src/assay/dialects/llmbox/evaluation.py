"""What an author's class does with predictions: the shapes it is handed them in, and what comes back.

The shapes are the original's. `get_ppl`: a pair (negative log-likelihood, tokens) for each option of each
row, and with normalisation the same once more for the options alone. `get_prob`: the labels' probabilities of
each row. `generation`: texts, or tuples of texts when there are several turns. With several samples of each
row, all rows come once for each sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from assay.core.errors import AuthorError
from assay.core.response import Completion, Failure, LabelProbs, Likelihood, Output
from assay.core.task import AnsweredRequest
from assay.dialects.llmbox.authoring import Dataset, MultipleChoiceDataset
from assay.dialects.llmbox.formatted_dataset import ORIGINAL_SEED, FormattedDataset
from assay.dialects.shared.author_draws import seeded_draws
from assay.dialects.shared.unknown_label import UNKNOWN_LABEL

RawPredictions = tuple[Any, ...]
"""The raw predictions of one row: one for each option, or one for each sample."""

_REFERENCES = ("references", "reference")
"""The name of the right answers, as the document writes it in two places."""


class AuthorEvaluation:
    """The lists that one object's metrics compare."""

    rule = "post_processing"
    """The author's own code finds the answers."""

    def __init__(self, prepared: FormattedDataset, *, is_faithful: bool) -> None:
        self._prepared = prepared
        self._dataset = prepared.dataset
        self._author = prepared.author
        self._is_faithful = is_faithful
        own = type(prepared.dataset).post_processing
        self.chooses_itself = isinstance(prepared.dataset, MultipleChoiceDataset) and (
            is_faithful or own is not MultipleChoiceDataset.post_processing
        )
        """Whether the class, and not Assay's own scorer, says which option a row's answer is."""
        self.groups_samples = prepared.dataset.args.pass_at_k is not None or any(
            getattr(metric, "takes_samples", False) for metric in prepared.dataset.metrics
        )

    @property
    def metrics(self) -> Sequence[Any]:
        """The metrics, in the author's order."""
        return self._dataset.metrics

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self._prepared.instances)

    def row(self, sample_id: str) -> int:
        """Return the number of a sample's row."""
        return self._prepared.index[sample_id]

    def raw(self, answers: Sequence[AnsweredRequest]) -> RawPredictions | Failure:
        """Return the answers to one row's requests as raw predictions; the failure, if one failed."""
        found: list[Any] = []
        alone: list[Any] = []
        for request, response in sorted(answers, key=lambda one: (one.request.role, one.request.index)):
            outcome = response.outcome
            if isinstance(outcome, Failure):
                return outcome
            if isinstance(outcome, Likelihood):
                pair = (-outcome.sum_logprob, outcome.n_tokens)
                (alone if request.role == "unconditional" else found).append(pair)
            elif isinstance(outcome, LabelProbs):
                if outcome.at_most:
                    return UNKNOWN_LABEL
                found.append(self._compute_shares(outcome.probs))
            elif isinstance(outcome, Completion):
                found += map(self._written, outcome.outputs)
        return (*found, *alone)

    def _compute_shares(self, probs: Sequence[float]) -> list[float]:
        """Return the labels' probabilities; in the faithful way as shares of all candidates."""
        total = sum(probs) if self._is_faithful else 0.0
        return [one / total for one in probs] if total > 0 else list(probs)

    def _written(self, output: Output) -> str | tuple[str, ...]:
        """Return what the model wrote: a text; of a conversation the answer to each turn, if only to one."""
        if not self._dataset.multi_turn:
            return output.text
        return tuple(output.turns) or (output.text,)

    def predictions(self, raws: Sequence[RawPredictions | None]) -> list[Any]:
        """Return what the class makes of the raw predictions of all rows; rows that failed are None."""
        dataset = self._dataset
        n_samples = 1 if dataset.model_evaluation_method != "generation" else dataset.sample_num
        # The author's code may rely on an answer's form: one that came stands in for one that did not.
        answer = next((raw[0] for raw in raws if raw), "")
        filled = [self._filled(raw, number, n_samples, answer) for number, raw in enumerate(raws)]
        if dataset.model_evaluation_method == "get_ppl":
            flat = self._flatten_pairs(filled)
        else:
            flat = [raw[sample] for sample in range(n_samples) for raw in filled]
        with self._author.calling("post_processing"), seeded_draws(ORIGINAL_SEED):
            returned: Any = dataset.post_processing(flat)
        made = list(returned) if isinstance(returned, Iterable) else None
        expected = self.n_rows * n_samples
        if made is None or len(made) != expected:
            seen = type(returned).__name__ if made is None else f"{len(made):,}"
            raise AuthorError(
                self._author.problem(
                    "LLMBOX-010",
                    f"post_processing returned {seen}, expected a list of {expected:,} predictions",
                    "return one prediction for each that it is given",
                )
            )
        if made and all(one is None for one in made):
            raise AuthorError(
                self._author.problem(
                    "LLMBOX-010",
                    "post_processing returned None for every prediction",
                    "end the function that reads a prediction with `return` and a value",
                )
            )
        if n_samples == 1:
            return [[one] for one in made] if self.groups_samples else made
        by_row = [made[number :: self.n_rows] for number in range(self.n_rows)]
        return by_row if self.groups_samples else [_find_most_frequent(several) for several in by_row]

    def chosen(self, number: int, option: int) -> int:
        """Return the index of an option, which is what metrics of classes compare."""
        return option

    def references(self) -> list[Any]:
        """Return the right answers, one for each row."""
        return read_references(self._prepared)

    def target(self, reference: Any) -> Any:
        """Return the right answer as it is."""
        return reference

    def is_unanswered(self, number: int) -> bool:
        """Say no: the author's code alone knows what it takes for an answer."""
        return False

    def _filled(self, raw: RawPredictions | None, number: int, n_samples: int, answer: Any) -> RawPredictions:
        """Return stand-ins of the right shape for a row that failed; what is made of them is dropped."""
        if raw is not None:
            return raw
        method = self._dataset.model_evaluation_method
        n_options = self._dataset.option_nums[number] if self._dataset.option_nums else 1
        if method == "get_ppl":
            return ((0.0, 1),) * (n_options * (2 if self._dataset.use_normalization else 1))
        if method == "get_prob":
            return ([0.0] * n_options,)
        if isinstance(answer, tuple):
            answer = (answer[-1],) * len(self._prepared.instances[number].sources)
        return (answer,) * n_samples

    def _flatten_pairs(self, filled: Sequence[RawPredictions]) -> list[Any]:
        if not self._dataset.use_normalization:
            return [pair for raw in filled for pair in raw]
        halves = [(raw[: len(raw) // 2], raw[len(raw) // 2 :]) for raw in filled]
        return [pair for half in (0, 1) for both in halves for pair in both[half]]


def read_references(prepared: FormattedDataset) -> list[Any]:
    """Return the author's references; where the class defines none, what the rows say themselves."""
    dataset, author = prepared.dataset, prepared.author
    columns = next(iter(dataset.evaluation_data), {})
    with author.calling("references", values=columns), seeded_draws(ORIGINAL_SEED):
        given = _get_references(dataset)
        references = None if given is None else list(given)
    if references is None and _defines_references(dataset):
        what = "references returned None"
        fix = "add the missing return: one reference for each row of self.evaluation_data"
        raise AuthorError(author.problem("LLMBOX-006", what, fix))
    if references is None:
        return [one.gold if one.gold is not None else one.target for one in prepared.instances]
    if len(references) != len(prepared.instances):
        raise AuthorError(
            author.problem(
                "LLMBOX-006",
                f"references has {len(references):,} entries for {len(prepared.instances):,} rows",
                "return one reference for each row of self.evaluation_data",
            )
        )
    return references


def _get_references(dataset: Dataset) -> Any:
    """Return `references`, or `reference` as the document once writes it: a property, or a method."""
    for name in _REFERENCES:
        found = getattr(dataset, name, None)
        if found is not None:
            return found() if callable(found) else found
    return None


def _defines_references(dataset: Dataset) -> bool:
    """Whether the author's class defines references, so that None is a mistake in it."""
    return any(name in vars(cls) for cls in type(dataset).__mro__ for name in _REFERENCES)


def _find_most_frequent(several: Sequence[Any]) -> Any:
    """Return the prediction that most samples agree on; the first of equals."""
    return max(several, key=lambda one: (several.count(one), -several.index(one)))
