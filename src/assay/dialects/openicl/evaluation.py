"""Evaluation of an entry: the model's answers become predictions, compared with the right answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import (
    RAISED_BY_AUTHORS,
    AuthorError,
    Problem,
    describe_exception,
    find_raise_origin,
    listing,
    reraise_interrupt,
)
from assay.core.prompt import Prompt
from assay.core.response import Completion, Failure, LabelProbs, Likelihood
from assay.core.task import AnsweredRequest
from assay.dialects.openicl.dataset_rows import Split
from assay.dialects.openicl.inferencing import Inference
from assay.dialects.openicl.scoring_parts import PostProcess
from assay.dialects.shared.choices import UNKNOWN_LABEL

EVALUATION_CODE = "OPENICL-016"
RowPredictions = tuple[Any, ...]
"""The predictions of one row, one per repeat."""


class EntryScoring(NamedTuple):
    """How the answers of a dataset are scored."""

    evaluator: Any
    """A metric over lists, from the scoring package; None: answers are not scored."""
    evaluator_name: str
    is_own: bool
    """Whether it is the author's own, which expects an empty text instead of a missing answer."""
    is_repeated: bool
    """Whether it evaluates all answers to a row together."""
    predictions: tuple[PostProcess, ...]
    """The post-processors, in order."""
    golds: PostProcess | None
    sees_prompts: bool = False
    """Whether the evaluator needs the prompts."""
    files: frozenset[Path] = frozenset()
    """The files with the authors' own scoring code."""


class EntryEvaluation:
    """The lists that an evaluator compares: implements the protocol `AuthorLists` of the scoring package."""

    def __init__(
        self,
        scoring: EntryScoring,
        test: Split,
        golds: Sequence[Any],
        labels: Sequence[Sequence[Any]],
        inference: Inference,
        reference: Callable[[int, str], Any],
        *,
        blanks_failures: bool = False,
    ) -> None:
        """Store the scoring, the rows with their right answers, and the labels of each row's options.

        `blanks_failures`: whether a failed request counts as an empty answer.
        """
        self._blanks_failures = blanks_failures
        self._scoring = scoring
        self._ids = test.ids
        self._golds = golds
        self._labels = labels
        self._inference = inference
        self._reference = reference
        by = " > ".join(one.name for one in scoring.predictions)
        self.rule = f"post_processing: {by}" if by else "post_processing"
        self._unanswered: set[int] = set()
        self._prompts: dict[int, str] = {}
        self.chooses_itself = inference.form == "choices"
        """Whether the evaluator takes the probabilities of all options instead of the chosen option."""
        self.found_labels = {} if self.chooses_itself else self._process_labels()
        """The labels that the post-processors change, with their results."""

    @property
    def metrics(self) -> Sequence[Any]:
        """The evaluator, if there is one."""
        return () if self._scoring.evaluator is None else (self._scoring.evaluator,)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self._golds)

    def row(self, sample_id: str) -> int:
        """Return the number of a sample's row."""
        return self._ids.number(sample_id)

    def raw(self, answers: Sequence[AnsweredRequest]) -> RowPredictions | Failure:
        """Return the predictions for one row, or the failure if a request failed."""
        found: list[Any] = []
        if self._scoring.sees_prompts and answers:
            first = answers[0].request
            self._prompts[self.row(first.sample_id)] = format_prompt_text(first.ask.prompt)
        came = sorted(answers, key=lambda one: one.request.index)
        if self._blanks_failures:
            came = [one for one in came if not isinstance(one.response.outcome, Failure)]
        for _, response in came:
            outcome = response.outcome
            if isinstance(outcome, Failure):
                return outcome
            if isinstance(outcome, Completion):
                for output in outcome.outputs:
                    texts = output.turns or (output.text,)
                    try:
                        made = [extract_answer(text, self._scoring.predictions) for text in texts]
                    except RAISED_BY_AUTHORS as error:
                        reraise_interrupt(error)
                        what = f"raised {describe_exception(error)} ({find_raise_origin(error)})"
                        return Failure("post_processor", what)
                    found.append(made if output.turns else made[0])
            elif isinstance(outcome, LabelProbs):
                if outcome.at_most:
                    return UNKNOWN_LABEL
                total = sum(outcome.probs)
                found.append([prob / total if total else 0.0 for prob in outcome.probs])
            elif isinstance(outcome, Likelihood):
                found.append(outcome)
        if self._inference.form == "chat" and self._inference.turn_mode == "every_with_gt":
            # In each repeat of a row, every turn is its own request.
            n_turns = len(found) // self._inference.sampling.n
            return tuple(found[at : at + n_turns] for at in range(0, len(found), n_turns))
        # AISBench appends an empty answer for each failed request.
        n_lost = self._inference.sampling.n - len(found) if len(came) < len(answers) else 0
        return (*found, *(extract_answer("", self._scoring.predictions) for _ in range(n_lost)))

    def _process_labels(self) -> dict[str, Any]:
        different = dict.fromkeys(map(tuple, self._labels))
        names = dict.fromkeys(str(label) for labels in different for label in labels)
        try:
            found = {name: extract_answer(name, self._scoring.predictions) for name in names}
        except RAISED_BY_AUTHORS as error:
            reraise_interrupt(error)
            raised = f"{self.rule} raised {describe_exception(error)}"
            what = f"{raised}; it is called with the labels {listing(names)}"
            fix = "correct the function, or remove pred_postprocessor"
            raise AuthorError(Problem(EVALUATION_CODE, what, fix)) from error
        return {name: one for name, one in found.items() if one != name}

    def predictions(self, raws: Sequence[RowPredictions | None]) -> list[Any]:
        """Return the predictions of all rows; None for failed rows."""
        made: list[Any] = []
        self._unanswered.clear()
        for number, raw in enumerate(raws):
            if raw and all(one is None for one in raw):
                self._unanswered.add(number)
            given = None if raw is None else tuple(self._convert_prediction(one) for one in raw)
            if given is None or self._scoring.is_repeated:
                made.append(given)
            else:
                made.append(_find_majority(given) if self._inference.is_voted else given[0])
        return made

    def _convert_prediction(self, prediction: Any) -> Any:
        """Return a prediction in the form that the evaluator expects: an author's own expects a text."""
        if isinstance(prediction, Likelihood):
            return -prediction.sum_logprob / max(1, prediction.n_tokens)
        if not self._scoring.is_own:
            return prediction
        if isinstance(prediction, list):
            return ["" if one is None else one for one in prediction]
        return "" if prediction is None else prediction

    def read_choice(self, number: int, option: int) -> Any:
        """Return the label of the option with the highest likelihood, or None."""
        if option < 0:
            return None
        label = self._labels[number][option]
        return self.found_labels.get(str(label), label)

    def references(self) -> list[Any]:
        """Return the references, one per row."""
        return [self._reference(number, self._prompts.get(number, "")) for number in range(self.n_rows)]

    def target(self, reference: Any) -> Any:
        """Return the right answer in a reference."""
        return reference.gold

    def is_unanswered(self, number: int) -> bool:
        """Whether no answer was found in the model's output for a row."""
        return number in self._unanswered


def extract_answer(text: str, processes: Sequence[PostProcess]) -> Any:
    """Apply post-processors to a text in sequence; return None if no answer is found."""
    found: Any = text
    for process in processes:
        found = process.find(found if isinstance(found, str) else "" if found is None else str(found))
    return found


def _find_majority(several: Sequence[Any]) -> Any:
    """Return the most frequent prediction, the first of equals; missing answers do not count."""
    counts = Counter(map(_key, (one for one in several if one is not None)))
    return max(several, key=lambda one: counts[_key(one)]) if counts else None


def _key(value: Any) -> str:
    return repr(value) if isinstance(value, list | dict | Mapping) else str(value)


def format_prompt_text(prompt: Prompt) -> str:
    """Return a prompt as one text, with a line break between messages."""
    return prompt if isinstance(prompt, str) else "\n".join(message.display_text for message in prompt)
