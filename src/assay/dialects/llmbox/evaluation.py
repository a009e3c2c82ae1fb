"""Evaluation by an author's class: the form of the predictions it receives, and what it returns.

The forms are the original's. `get_ppl`: a pair (negative log-likelihood, tokens) for each option of each row,
and with normalisation the same again for the options alone. `get_prob`: the label probabilities of each row.
`generation`: texts, or tuples of texts for several turns. With several samples per row, all rows come once
per sample.
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
from assay.dialects.shared.choices import UNKNOWN_LABEL

RawPredictions = tuple[Any, ...]
"""The raw predictions of one row: one per option, or one per sample."""

_REFERENCES = ("references", "reference")
"""The names of the right answers; the documentation uses both."""


class AuthorEvaluation:
    """The lists that the metrics of one object compare."""

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
        """Whether the class, instead of Assay's scorer, decides which option a row's answer is."""
        self.groups_samples = prepared.dataset.args.pass_at_k is not None or any(
            getattr(metric, "takes_samples", False) for metric in prepared.dataset.metrics
        )

    @property
    def metrics(self) -> Sequence[Any]:
        """The metrics, in the author's order."""
        return self._dataset.metrics

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self._prepared.instances)

    def row(self, sample_id: str) -> int:
        """Return the row number of a sample."""
        return self._prepared.index[sample_id]

    def raw(self, answers: Sequence[AnsweredRequest]) -> RawPredictions | Failure:
        """Return the answers to one row's requests as raw predictions, or the failure if one failed."""
        predictions: list[Any] = []
        alone: list[Any] = []
        for request, response in sorted(
            answers, key=lambda answer: (answer.request.role, answer.request.index)
        ):
            outcome = response.outcome
            if isinstance(outcome, Failure):
                return outcome
            if isinstance(outcome, Likelihood):
                pair = (-outcome.sum_logprob, outcome.n_tokens)
                (alone if request.role == "unconditional" else predictions).append(pair)
            elif isinstance(outcome, LabelProbs):
                if outcome.at_most:
                    return UNKNOWN_LABEL
                predictions.append(self._compute_shares(outcome.probs))
            elif isinstance(outcome, Completion):
                predictions += map(self._read_text, outcome.outputs)
        return (*predictions, *alone)

    def _compute_shares(self, probs: Sequence[float]) -> list[float]:
        """Return the label probabilities; in faithful mode as shares of all candidates."""
        total = sum(probs) if self._is_faithful else 0.0
        return [prob / total for prob in probs] if total > 0 else list(probs)

    def _read_text(self, output: Output) -> str | tuple[str, ...]:
        """Return the model's text; for a conversation the answer to each turn, even if there is only one."""
        if not self._dataset.multi_turn:
            return output.text
        return tuple(output.turns) or (output.text,)

    def predictions(self, raws: Sequence[RawPredictions | None]) -> list[Any]:
        """Return the class's predictions from the raw predictions of all rows; failed rows are None."""
        dataset = self._dataset
        n_samples = 1 if dataset.model_evaluation_method != "generation" else dataset.sample_num
        # The author's code may rely on the form of an answer, so use an existing one for rows that failed.
        answer = next((raw[0] for raw in raws if raw), "")
        filled = [self._fill_placeholders(raw, number, n_samples, answer) for number, raw in enumerate(raws)]
        if dataset.model_evaluation_method == "get_ppl":
            flat = self._flatten_pairs(filled)
        else:
            flat = [raw[sample] for sample in range(n_samples) for raw in filled]
        with self._author.convert_errors("post_processing"), seeded_draws(ORIGINAL_SEED):
            returned: Any = dataset.post_processing(flat)
        predictions = list(returned) if isinstance(returned, Iterable) else None
        expected = self.n_rows * n_samples
        if predictions is None or len(predictions) != expected:
            found = type(returned).__name__ if predictions is None else f"{len(predictions):,}"
            raise AuthorError(
                self._author.problem(
                    "LLMBOX-010",
                    f"post_processing returned {found}, expected a list of {expected:,} predictions",
                    "return one prediction for each one it receives",
                )
            )
        if predictions and all(prediction is None for prediction in predictions):
            raise AuthorError(
                self._author.problem(
                    "LLMBOX-010",
                    "post_processing returned None for every prediction",
                    "end the function that reads a prediction with `return` and a value",
                )
            )
        if n_samples == 1:
            return [[prediction] for prediction in predictions] if self.groups_samples else predictions
        by_row = [predictions[number :: self.n_rows] for number in range(self.n_rows)]
        return by_row if self.groups_samples else [_find_most_frequent(several) for several in by_row]

    def read_choice(self, number: int, option: int) -> int:
        """Return the index of an option, which the metrics of classes compare."""
        return option

    def references(self) -> list[Any]:
        """Return the right answers, one per row."""
        return read_references(self._prepared)

    def target(self, reference: Any) -> Any:
        """Return the right answer unchanged."""
        return reference

    def is_unanswered(self, number: int) -> bool:
        """Return False: only the author's code knows what counts as an answer."""
        return False

    def _fill_placeholders(
        self, raw: RawPredictions | None, number: int, n_samples: int, answer: Any
    ) -> RawPredictions:
        """Return placeholders of the right form for a failed row; their results are dropped."""
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
    """Return the author's references, or if the class defines none, the answers in the rows."""
    dataset, author = prepared.dataset, prepared.author
    columns = next(iter(dataset.evaluation_data), {})
    with author.convert_errors("references", values=columns), seeded_draws(ORIGINAL_SEED):
        given = _get_references(dataset)
        references = None if given is None else list(given)
    if references is None and _defines_references(dataset):
        what = "references returned None"
        fix = "add the missing return: one reference for each row of self.evaluation_data"
        raise AuthorError(author.problem("LLMBOX-006", what, fix))
    if references is None:
        return [row.gold if row.gold is not None else row.target for row in prepared.instances]
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
    """Return `references`, or `reference` as in one place of the documentation: a property or a method."""
    for name in _REFERENCES:
        found = getattr(dataset, name, None)
        if found is not None:
            return found() if callable(found) else found
    return None


def _defines_references(dataset: Dataset) -> bool:
    """Return whether the author's class defines references, so that None is an error."""
    return any(name in vars(cls) for cls in type(dataset).__mro__ for name in _REFERENCES)


def _find_most_frequent(several: Sequence[Any]) -> Any:
    """Return the prediction that most samples agree on; the first of equals."""
    return max(several, key=lambda value: (several.count(value), -several.index(value)))
