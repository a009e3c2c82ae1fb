"""The rows of OpenCompass's prediction and result files, in the formats that its own tools read.

`details` of a result are a list if the evaluator reports whether each row is right, with each value a list
over the runs; for other evaluators a dict by row number, with `type` GEN or PPL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.method import Method
from assay.core.prompt import Prompt
from assay.core.request import Span
from assay.core.response import LabelProbs, Likelihood
from assay.core.score import Verdict
from assay.core.task import TaskSpec
from assay.results.records import AskRecord
from assay.systems.opencompass.answered_rows import AnsweredRow, format_prompt, iterate_options, list_texts

_OPTION_EVALUATOR = "OptionSimAccEvaluator"
PROMPT_EVALUATOR = "AccwithDetailsEvaluator"
"""The evaluator whose details contain the prompt and use other names."""
_VOTING_INFERENCER = "SCInferencer"
JOINT_PREFIXES = ("G-Pass@", "mG-Pass@", "avg@", "pass@", "cons@")
"""Prefixes of metrics over several answers to a row."""


class OpenCompassRows:
    """The rows of one task."""

    def __init__(self, spec: TaskSpec) -> None:
        self._spec = spec
        settings = spec.settings
        is_table = spec.dialect == "table"
        column = settings["layout"].get("answer_column") if is_table else settings["reader"]["output_column"]
        self._answer_column: str | None = column
        self._is_faithful = settings.get("fidelity") == "faithful" or settings.get("faithful") is True
        self._is_one_text = _is_one_text(settings)
        self._is_voted = (settings.get("inferencer") or {}).get("name") == _VOTING_INFERENCER
        self._details = _RowDetails(spec, is_faithful=self._is_faithful)

    def prediction(self, row: AnsweredRow) -> dict[str, Any]:
        """Return the prediction for one row."""
        prediction = self._describe_requests(row)
        prediction |= self._describe_answer(row)
        gold = self._gold(row)
        return prediction if gold is None or gold in ("", []) else {**prediction, "gold": gold}

    def predictions(self, rows: Sequence[AnsweredRow], *, lists_answers: bool) -> dict[str, dict[str, Any]]:
        """Return the predictions for all rows, by number.

        Several answers to a row are in one list or, as in the original, in rows of their own: all first
        answers, then all second ones.
        """
        n = 1 if lists_answers or self._is_voted else max((len(list_texts(row)) for row in rows), default=1)
        predictions: dict[str, dict[str, Any]] = {}
        for repeat in range(max(1, n)):
            for row in rows:
                prediction = self.prediction(row)
                if n > 1 and isinstance(prediction.get("prediction"), list):
                    texts = prediction["prediction"]
                    prediction["prediction"] = texts[repeat] if repeat < len(texts) else ""
                predictions[str(repeat * len(rows) + row.number)] = prediction
        return predictions

    def details(self, rows: Sequence[AnsweredRow]) -> Any:
        """Return the details of all rows."""
        if self._details.are_listed or (self._details.is_own and any(map(_has_own_details, rows))):
            return [self._details.build_row(row, self._gold(row), self._prompt(row)) for row in rows]
        kind = "GEN" if self._spec.methods[0] == Method.GEN else "PPL"
        return {"type": kind, **{str(row.number): self._detail(row) for row in rows}}

    def _gold(self, row: AnsweredRow) -> Any:
        """Return the reference answer as the row has it, before any post-processor."""
        sample = row.record.sample
        if self._answer_column is not None and self._answer_column in sample.fields:
            return sample.fields[self._answer_column]
        right: Sequence[str] = [sample.labels[at] for at in sample.gold] or sample.targets
        return None if not right else right[0] if len(right) == 1 else list(right)

    def _describe_requests(self, row: AnsweredRow) -> dict[str, Any]:
        options = list(iterate_options(row))
        if not options:
            return {"origin_prompt": self._prompt(row)} if row.record.contexts else {}
        labelled = {f"label: {label}": self._option(row, ask, outcome) for label, ask, outcome in options}
        first = next(iter(labelled.values()))["testing input"]
        return {"in-context examples": self._examples(row, options[0][1]), "origin_prompt": first, **labelled}

    def _prompt(self, row: AnsweredRow) -> Any:
        return self._format_prompt(row.record.contexts[0]) if row.record.contexts else None

    def _examples(self, row: AnsweredRow, ask: AskRecord) -> str:
        """Return the solved examples before the question, as in the prompt."""
        prompt = row.record.ask(ask).prompt
        if ask.examples is None or not isinstance(prompt, str):
            return ""
        start, end = ask.examples
        return prompt[start:end]

    def _option(self, row: AnsweredRow, ask: AskRecord, outcome: Likelihood) -> dict[str, Any]:
        request = row.record.ask(ask)
        prompt = self._format_prompt(request.prompt)
        examples = self._examples(row, ask)
        tested = prompt.replace(examples, "") if examples and isinstance(prompt, str) else prompt
        # The original divides by all tokens of the text, including the unscored first one.
        n_unscored = int(self._is_faithful and isinstance(request, Span) and not request.scores_first_token)
        loss = -outcome.sum_logprob
        n_bytes = len(tested.encode()) if isinstance(tested, str) else outcome.n_bytes
        return {
            "testing input": tested,
            "prompt": prompt,
            "PPL": loss / max(1, outcome.n_tokens + n_unscored),
            "BPB": loss / max(1, n_bytes or 0),
        }

    def _describe_answer(self, row: AnsweredRow) -> dict[str, Any]:
        if row.failure is not None:
            return {"error": f"{row.failure.kind}: {row.failure.message}"}
        texts = list_texts(row)
        if texts or row.score is None:
            return {"prediction": texts[0] if len(texts) == 1 else texts}
        return self._describe_label(row)

    def _describe_label(self, row: AnsweredRow) -> dict[str, Any]:
        """Return the chosen label; with label probabilities, also the share of each."""
        answer = None if row.score is None else row.score.answer
        labelled = next((outcome for _, outcome in row.asks if isinstance(outcome, LabelProbs)), None)
        if labelled is None or labelled.at_most:
            return {"prediction": _convert_label(answer, self._gold(row))}
        total = sum(labelled.probs) or 1.0
        labels = list(row.record.sample.labels)
        shares = [one / total for one in labelled.probs]
        return {"prediction": shares, "choices": labels, "pred_label": answer}

    def _format_prompt(self, prompt: Prompt) -> Any:
        """Return a prompt; a text that was sent as one chat message stays a text."""
        if not isinstance(prompt, str) and self._is_one_text and len(prompt) == 1:
            return prompt[0].display_text
        return format_prompt(prompt)

    def _detail(self, row: AnsweredRow) -> dict[str, Any]:
        """Return one row of the details by number."""
        prediction = self.prediction(row)
        labelled = {key: one for key, one in prediction.items() if key.startswith("label: ")}
        if labelled:
            rest = {key: prediction[key] for key in ("origin_prompt", "gold") if key in prediction}
            options = {
                key.removeprefix("label: "): {name: one[name] for name in ("prompt", "PPL", "BPB")}
                for key, one in labelled.items()
            }
            detail: dict[str, Any] = {"origin_prediction": {**rest, **options}}
        else:
            detail = {
                "prompt": prediction.get("origin_prompt", ""),
                "origin_prediction": prediction.get("prediction", ""),
            }
        score = row.score
        if score is None or score.verdict is Verdict.FAILED:
            return {**detail, "error": prediction.get("error") or (score and score.why) or "not scored"}
        target = score.target if score.target is not None else self._gold(row)
        detail["predictions"] = "" if score.answer is None else str(score.answer)
        detail["references"] = str(target)
        if labelled or not self._is_faithful:
            detail |= _build_correctness(row)
        return detail


class _RowDetails:
    """Details of evaluators that report whether each row is right."""

    def __init__(self, spec: TaskSpec, *, is_faithful: bool) -> None:
        settings = spec.settings
        self._spec = spec
        self._is_faithful = is_faithful
        is_table = spec.dialect == "table"
        is_mcq = is_table and settings["layout"].get("data_type") == "mcq" and spec.methods[0] == Method.GEN
        self._evaluator = _OPTION_EVALUATOR if is_mcq else str(settings.get("evaluator") or "")
        self._letters = (settings.get("evaluator_arguments") or {}).get("options")
        self.are_listed = self._evaluator == _OPTION_EVALUATOR or _has_details(self._evaluator)
        self.is_own = not is_known_evaluator(self._evaluator)

    def build_row(self, row: AnsweredRow, gold: Any, prompt: Any) -> dict[str, Any]:
        """Return one row, each value a list over the runs."""
        texts = list_texts(row)
        detail: dict[str, Any] = {"example_abbr": self._abbr(row), "pred": texts}
        score = row.score
        if row.failure is not None or score is None or score.verdict is Verdict.FAILED:
            failure = row.failure
            why = f"{failure.kind}: {failure.message}" if failure is not None else score and score.why
            return {**detail, "error": why or "not scored"}
        together = {name: one for name, one in score.also.items() if name.startswith(JOINT_PREFIXES)}
        head = {"example_abbr": detail["example_abbr"], **together}
        if self._evaluator != _OPTION_EVALUATOR:
            return {
                **head,
                **transpose_details(rename_details(self._evaluator, self._answer_details(row, gold), prompt)),
            }
        parsed = [self._read_option(row, text) for text in texts]
        detail = {**head, "pred": texts}
        detail["parsed"] = [one or "" for one in parsed]
        detail["refr"] = [gold] * len(texts)
        detail["correct"] = [one is not None and one in _labels(row, gold) for one in parsed]
        return detail

    def _answer_details(self, row: AnsweredRow, gold: Any) -> Sequence[Mapping[str, Any]]:
        """Return the evaluator's details for each answer to a row, or equivalent ones."""
        score, texts = row.score, list_texts(row)
        assert score is not None
        target = score.target if score.target is not None else gold
        correct = score.value == 1.0 if len(texts) == 1 else score.value
        answers = texts if len(texts) > 1 else [score.answer]
        return score.details or [{"pred": one, "answer": target, "correct": correct} for one in answers]

    def _abbr(self, row: AnsweredRow) -> str:
        """Return the dataset's name, its split if it has several, and the row's number in the split."""
        settings = self._spec.settings
        split = f"_{settings['split']}" if settings.get("split") else ""
        # Without a range, the number in the run is that in the split, whatever the loader did to the file.
        is_ranged = "reader" not in settings or settings["reader"].get("test_range") is not None
        place = row.record.sample.origin.row
        return f"{self._spec.name}{split}_{row.number if place is None or not is_ranged else place - 1}"

    def _read_option(self, row: AnsweredRow, text: str) -> str | None:
        """Return the option that a reply chose."""
        from assay.scoring.extract import extract_option
        from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow
        from assay.scoring.originals.opencompass.evaluators.options import OptionColumns
        from assay.scoring.originals.opencompass.option_reader import infer_option

        sample = row.record.sample
        if self._letters is None:
            find = infer_option if self._is_faithful else extract_option
            return find(text, sample.labels, sample.choices).answer
        chooser = OptionColumns(self._letters, is_faithful=self._is_faithful)
        return chooser.read_choice(text, EvaluatedRow(None, sample.fields))


def rename_details(
    evaluator: str, details: Sequence[Mapping[str, Any]], prompt: Any
) -> Sequence[Mapping[str, Any]]:
    """Return details with the names of the original's evaluator."""
    if evaluator != PROMPT_EVALUATOR:
        return details
    return [
        {"prompt": prompt, "pred": one["pred"], "refr": one["answer"], "is_correct": one["correct"]}
        for one in details
    ]


def transpose_details(details: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the details of several answers by name, each value a list over the answers."""
    by_name: dict[str, list[Any]] = {}
    for one in details:
        for name, value in one.items():
            by_name.setdefault(name, []).append(value)
    return by_name


def _labels(row: AnsweredRow, gold: Any) -> Sequence[Any]:
    sample = row.record.sample
    return [sample.labels[at] for at in sample.gold] or [gold]


def _has_own_details(row: AnsweredRow) -> bool:
    """Return whether the evaluator reports its own details for a row."""
    return row.score is not None and bool(row.score.details)


def is_known_evaluator(evaluator: str) -> bool:
    """Return whether an evaluator is one of Assay's, not the config's own."""
    from assay.scoring.originals.opencompass.evaluators.registry import EVALUATORS

    return evaluator in EVALUATORS


def _has_details(evaluator: str) -> bool:
    from assay.scoring.originals.opencompass.evaluators.registry import EVALUATORS

    return evaluator in EVALUATORS and EVALUATORS[evaluator].has_details


def _is_one_text(settings: Mapping[str, Any]) -> bool:
    """Return whether the template is a text, which a chat model gets as a user message."""
    declared = settings.get("said") or {}
    return (
        settings.get("prompt_format") == "string format"
        or settings.get("joins_turns") is True
        or isinstance(declared.get("template"), str)
    )


def _convert_label(answer: Any, gold: Any) -> Any:
    """Return a label with the type of the reference answers: 2 for "2"."""
    is_number = isinstance(gold, int) and not isinstance(gold, bool)
    return int(answer) if is_number and isinstance(answer, str) and answer.isdecimal() else answer


def _build_correctness(row: AnsweredRow) -> dict[str, Any]:
    score = row.score
    if score is None or score.value is None:
        return {"correct": False} if score is not None and score.verdict is Verdict.UNANSWERED else {}
    if score.value in (0.0, 1.0):
        return {"correct": score.value == 1.0}
    return {score.metric: score.value}
