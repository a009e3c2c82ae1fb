"""What a config's evaluation makes of the model's answers: predictions, compared with the right ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import (
    RAISED_BY_AUTHORS,
    AuthorError,
    Problem,
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
from assay.dialects.shared.unknown_label import UNKNOWN_LABEL

EVALUATION_CODE = "OPENICL-016"
RowPredictions = tuple[Any, ...]
"""The predictions of one row: one for each time that it was asked."""


class EntryScoring(NamedTuple):
    """How the answers of a dataset are scored."""

    evaluator: Any
    """A metric over lists, as the room of scoring makes them; None: answers are not scored."""
    evaluator_name: str
    is_own: bool
    """Whether it is the author's own, which knows an empty text and no absent answer."""
    is_repeated: bool
    """Whether it takes all answers to a row together."""
    predictions: tuple[PostProcess, ...]
    """What each text goes through, in order."""
    golds: PostProcess | None
    sees_prompts: bool = False
    """Whether the evaluator asks for what the model was asked."""
    files: frozenset[Path] = frozenset()
    """Where the authors' own code for it stands."""


class EntryEvaluation:
    """The lists that an evaluator compares: the protocol `AuthorLists` of the room of scoring."""

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
        """Take how it is scored, the rows with their right answers, and the labels of each row's options.

        `blanks_failures`: a request that failed counts as an empty answer.
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
        """Whether the evaluator takes the probabilities of all options, and not the one that was chosen."""
        self.found_labels = {} if self.chooses_itself else self._process_labels()
        """What the post-processors make of each label, by its name; of those alone that they change."""

    @property
    def metrics(self) -> Sequence[Any]:
        """The evaluator, if there is one."""
        return () if self._scoring.evaluator is None else (self._scoring.evaluator,)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self._golds)

    def row(self, sample_id: str) -> int:
        """Return the number of a sample's row."""
        return self._ids.number(sample_id)

    def raw(self, answers: Sequence[AnsweredRequest]) -> RowPredictions | Failure:
        """Return what was found in the answers to one row; the failure, if a request failed."""
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
                        what = f"raised {type(error).__name__}: {error} ({find_raise_origin(error)})"
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
            # Each time that a row is asked, every turn is a request of its own.
            n_turns = len(found) // self._inference.sampling.n
            return tuple(found[at : at + n_turns] for at in range(0, len(found), n_turns))
        # AISBench puts an empty answer for each that failed behind those that came.
        n_lost = self._inference.sampling.n - len(found) if len(came) < len(answers) else 0
        return (*found, *(extract_answer("", self._scoring.predictions) for _ in range(n_lost)))

    def _process_labels(self) -> dict[str, Any]:
        different = dict.fromkeys(map(tuple, self._labels))
        names = dict.fromkeys(str(label) for labels in different for label in labels)
        try:
            found = {name: extract_answer(name, self._scoring.predictions) for name in names}
        except RAISED_BY_AUTHORS as error:
            reraise_interrupt(error)
            said = f"{self.rule} raised {type(error).__name__}: {error}"
            what = f"{said}; it is given the labels {listing(names)}"
            fix = "correct the function, or drop pred_postprocessor"
            raise AuthorError(Problem(EVALUATION_CODE, what, fix)) from error
        return {name: one for name, one in found.items() if one != name}

    def predictions(self, raws: Sequence[RowPredictions | None]) -> list[Any]:
        """Return the predictions of all rows; those that failed are None."""
        made: list[Any] = []
        self._unanswered.clear()
        for number, raw in enumerate(raws):
            if raw and all(one is None for one in raw):
                self._unanswered.add(number)
            given = None if raw is None else tuple(self._given(one) for one in raw)
            if given is None or self._scoring.is_repeated:
                made.append(given)
            else:
                made.append(_find_majority(given) if self._inference.is_voted else given[0])
        return made

    def _given(self, prediction: Any) -> Any:
        """Return a prediction as the evaluator takes it: the author's own expects a text."""
        if isinstance(prediction, Likelihood):
            return -prediction.sum_logprob / max(1, prediction.n_tokens)
        if not self._scoring.is_own:
            return prediction
        if isinstance(prediction, list):
            return ["" if one is None else one for one in prediction]
        return "" if prediction is None else prediction

    def chosen(self, number: int, option: int) -> Any:
        """Return the label of an option that was chosen by its likelihood; None for none."""
        if option < 0:
            return None
        label = self._labels[number][option]
        return self.found_labels.get(str(label), label)

    def references(self) -> list[Any]:
        """Return what predictions are compared with, one for each row."""
        return [self._reference(number, self._prompts.get(number, "")) for number in range(self.n_rows)]

    def target(self, reference: Any) -> Any:
        """Return the right answer in a reference."""
        return reference.gold

    def is_unanswered(self, number: int) -> bool:
        """Whether no answer was found in what the model wrote about a row."""
        return number in self._unanswered


def extract_answer(text: str, processes: Sequence[PostProcess]) -> Any:
    """Return what post-processors find in a text, one after the other; None where there is nothing."""
    found: Any = text
    for process in processes:
        found = process.find(found if isinstance(found, str) else "" if found is None else str(found))
    return found


def _find_majority(several: Sequence[Any]) -> Any:
    """Return the prediction that most answers agree on, the first of equals; no answer has no vote."""
    counts = Counter(map(_key, (one for one in several if one is not None)))
    return max(several, key=lambda one: counts[_key(one)]) if counts else None


def _key(value: Any) -> str:
    return repr(value) if isinstance(value, list | dict | Mapping) else str(value)


def format_prompt_text(prompt: Prompt) -> str:
    """Return a prompt as one text: a conversation with a line break between its messages."""
    return prompt if isinstance(prompt, str) else "\n".join(message.shown for message in prompt)
