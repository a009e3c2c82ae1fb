"""The rows of OpenCompass's prediction and result files, in the shapes that its own tools read.

`details` of a result are a list where the evaluator says of each row whether it is right, each value a list
over the runs; for other evaluators a dict by row number, with `type` GEN or PPL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.app.answered_rows import AnsweredRow, options_of, shown_prompt, texts_of
from assay.core.prompt import Prompt
from assay.core.request import Span
from assay.core.response import LabelProbs, Likelihood
from assay.core.score import Verdict
from assay.core.task import TaskSpec
from assay.results.records import AskRecord

_OPTION_EVALUATOR = "OptionSimAccEvaluator"


class OpenCompassRows:
    """Rows of one task."""

    def __init__(self, spec: TaskSpec) -> None:
        self._spec = spec
        settings = spec.settings
        is_table = spec.dialect == "table"
        column = settings["layout"].get("answer_column") if is_table else settings["reader"]["output_column"]
        self._answer_column: str | None = column
        self._is_faithful = settings.get("fidelity") == "faithful" or settings.get("faithful") is True
        self._is_one_text = _is_one_text(settings)
        self._details = _Details(spec, is_faithful=self._is_faithful)

    def prediction(self, row: AnsweredRow) -> dict[str, Any]:
        """Return what the model answered to one row."""
        made = self._asked(row)
        made |= self._answered(row)
        gold = self._gold(row)
        return made if gold is None or gold in ("", []) else {**made, "gold": gold}

    def details(self, rows: Sequence[AnsweredRow]) -> Any:
        """Return what the answers to all rows are worth."""
        if self._details.are_listed:
            return [self._details.listed(row, self._gold(row)) for row in rows]
        kind = "GEN" if self._spec.methods[0] == "gen" else "PPL"
        return {"type": kind, **{str(row.number): self._detail(row) for row in rows}}

    def _gold(self, row: AnsweredRow) -> Any:
        """Return the right answer as the row has it, before any post-processor."""
        sample = row.record.sample
        if self._answer_column is not None and self._answer_column in sample.fields:
            return sample.fields[self._answer_column]
        right: Sequence[str] = [sample.labels[at] for at in sample.gold] or sample.targets
        return None if not right else right[0] if len(right) == 1 else list(right)

    def _asked(self, row: AnsweredRow) -> dict[str, Any]:
        options = list(options_of(row))
        if not options:
            contexts = row.record.contexts
            return {"origin_prompt": self._shown(contexts[0])} if contexts else {}
        labelled = {f"label: {label}": self._option(row, ask, outcome) for label, ask, outcome in options}
        first = next(iter(labelled.values()))["prompt"]
        examples = {"in-context examples": ""} if not options[0][1].n_shots else {}
        return {**examples, "origin_prompt": first, **labelled}

    def _option(self, row: AnsweredRow, ask: AskRecord, outcome: Likelihood) -> dict[str, Any]:
        asked = row.record.ask(ask)
        prompt = self._shown(asked.prompt)
        # The original divides by all tokens of the text, the unscored first one included.
        n_unscored = int(self._is_faithful and isinstance(asked, Span) and not asked.leads)
        loss = -outcome.sum_logprob
        n_bytes = len(prompt.encode()) if isinstance(prompt, str) else outcome.n_bytes
        return {
            "testing input": prompt,
            "prompt": prompt,
            "PPL": loss / max(1, outcome.n_tokens + n_unscored),
            "BPB": loss / max(1, n_bytes or 0),
        }

    def _answered(self, row: AnsweredRow) -> dict[str, Any]:
        if row.failure is not None:
            return {"error": f"{row.failure.kind}: {row.failure.message}"}
        texts = texts_of(row)
        if texts or row.score is None:
            return {"prediction": texts[0] if len(texts) == 1 else texts}
        return self._labelled(row)

    def _labelled(self, row: AnsweredRow) -> dict[str, Any]:
        """Return what was chosen between labels, and where it was a share of each, the shares."""
        answer = None if row.score is None else row.score.answer
        labelled = next((outcome for _, outcome in row.asks if isinstance(outcome, LabelProbs)), None)
        if labelled is None or labelled.at_most:
            return {"prediction": _as_label(answer, self._gold(row))}
        total = sum(labelled.probs) or 1.0
        labels = list(row.record.sample.labels)
        shares = [one / total for one in labelled.probs]
        return {"prediction": shares, "choices": labels, "pred_label": answer}

    def _shown(self, prompt: Prompt) -> Any:
        """Return a prompt; a text that went to a chat as one message is a text here."""
        if not isinstance(prompt, str) and self._is_one_text and len(prompt) == 1:
            return prompt[0].shown
        return shown_prompt(prompt)

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
            made: dict[str, Any] = {"origin_prediction": {**rest, **options}}
        else:
            made = {
                "prompt": prediction.get("origin_prompt", ""),
                "origin_prediction": prediction.get("prediction", ""),
            }
        score = row.score
        if score is None or score.verdict is Verdict.FAILED:
            return {**made, "error": prediction.get("error") or (score and score.why) or "not scored"}
        target = score.target if score.target is not None else self._gold(row)
        made["predictions"] = "" if score.answer is None else str(score.answer)
        made["references"] = str(target)
        if labelled or not self._is_faithful:
            made |= _worth(row)
        return made


class _Details:
    """Details of evaluators that say of each row whether it is right."""

    def __init__(self, spec: TaskSpec, *, is_faithful: bool) -> None:
        settings = spec.settings
        self._spec = spec
        self._is_faithful = is_faithful
        is_table = spec.dialect == "table"
        is_mcq = is_table and settings["layout"].get("data_type") == "mcq" and spec.methods[0] == "gen"
        self._evaluator = _OPTION_EVALUATOR if is_mcq else str(settings.get("evaluator") or "")
        self._letters = (settings.get("evaluator_arguments") or {}).get("options")
        self.are_listed = self._evaluator == _OPTION_EVALUATOR or _has_details(self._evaluator)

    def listed(self, row: AnsweredRow, gold: Any) -> dict[str, Any]:
        """Return one row, each value a list over the runs."""
        texts = texts_of(row)
        made: dict[str, Any] = {"example_abbr": f"{self._spec.name}_{row.number}", "pred": texts}
        score = row.score
        if row.failure is not None or score is None or score.verdict is Verdict.FAILED:
            failure = row.failure
            why = f"{failure.kind}: {failure.message}" if failure is not None else score and score.why
            return {**made, "error": why or "not scored"}
        if self._evaluator != _OPTION_EVALUATOR:
            target = score.target if score.target is not None else gold
            answers = texts if len(texts) > 1 else [score.answer]
            right = [score.value == 1.0] * len(texts) if len(texts) == 1 else []
            return {
                **made,
                "pred": answers,
                "answer": [target] * len(texts),
                "correct": right or [score.value],
            }
        parsed = [self._parsed(row, text) for text in texts]
        made["parsed"] = [one or "" for one in parsed]
        made["refr"] = [gold] * len(texts)
        made["correct"] = [one is not None and one in _labels(row, gold) for one in parsed]
        return made

    def _parsed(self, row: AnsweredRow, text: str) -> str | None:
        """Return the option that a reply chose."""
        from assay.scoring.evaluators.evaluator import EvaluatedRow
        from assay.scoring.evaluators.options import Options
        from assay.scoring.extract import extract_option
        from assay.scoring.extract.original_options import infer_option

        sample = row.record.sample
        if self._letters is None:
            find = infer_option if self._is_faithful else extract_option
            return find(text, sample.labels, sample.choices).answer
        chooser = Options(self._letters, is_faithful=self._is_faithful)
        return chooser.chosen(text, EvaluatedRow(None, sample.fields))


def _labels(row: AnsweredRow, gold: Any) -> Sequence[Any]:
    sample = row.record.sample
    return [sample.labels[at] for at in sample.gold] or [gold]


def _has_details(evaluator: str) -> bool:
    from assay.scoring.evaluators.registry import EVALUATORS

    return evaluator in EVALUATORS and EVALUATORS[evaluator].has_details


def _is_one_text(settings: Mapping[str, Any]) -> bool:
    """Whether the template is a text, which a chat model is told by the user."""
    said = settings.get("said") or {}
    return (
        settings.get("prompt_format") == "string format"
        or settings.get("joins_turns") is True
        or isinstance(said.get("template"), str)
    )


def _as_label(answer: Any, gold: Any) -> Any:
    """Return a label with the type that right answers have: 2 for "2"."""
    is_number = isinstance(gold, int) and not isinstance(gold, bool)
    return int(answer) if is_number and isinstance(answer, str) and answer.isdecimal() else answer


def _worth(row: AnsweredRow) -> dict[str, Any]:
    score = row.score
    if score is None or score.value is None:
        return {"correct": False} if score is not None and score.verdict is Verdict.UNANSWERED else {}
    if score.value in (0.0, 1.0):
        return {"correct": score.value == 1.0}
    return {score.metric: score.value}
