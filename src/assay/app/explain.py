"""Explain one sample of a run: its requests, tokens, responses and scores, and why."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import msgspec

from assay.app.offline.watch import offline_watch
from assay.app.open_model import open_recorded_model
from assay.app.settings import RunSettings
from assay.core.model import Token
from assay.core.ports import Backend
from assay.core.python_objects import is_python_name
from assay.core.request import Ask, Generate
from assay.core.response import Completion, Response
from assay.core.score import Attempt, Score
from assay.results.read import StoredRun
from assay.results.records import AskRecord, SampleRecord
from assay.scoring.originals.leap.task_results import TASK_RULE
from assay.scoring.originals.llmbox.author_metrics import AUTHOR_RULE
from assay.scoring.originals.opencompass.postprocess import POSTPROCESSORS
from assay.scoring.originals.ultraeval.row_answers import WHOLE_OUTPUT
from assay.scoring.scorers.grading import extract_question
from assay.scoring.scorers.registry import explain_output

_OTHER_RULES = frozenset({TASK_RULE, WHOLE_OUTPUT, *POSTPROCESSORS})
"""Rules of answers that Assay's own extraction did not find, besides those of authors."""


class ExplainedAsk(msgspec.Struct, frozen=True):
    """One request with all details."""

    record: AskRecord
    ask: Ask
    tokens: tuple[Token, ...]
    """The tokens that the model sees; empty if no tokenizer is used."""
    response: Response | None
    attempts: tuple[Attempt, ...] = ()
    """All extraction rules that were tried on the model's output."""


class Explanation(msgspec.Struct, frozen=True):
    """One sample of a run, explained."""

    sample: SampleRecord
    asks: tuple[ExplainedAsk, ...]
    scores: tuple[Score, ...]


def explain(run: StoredRun, wanted: str, *, with_tokens: bool, offline: bool = False) -> Explanation:
    """Return all that a run knows about one sample; offline if the run was offline."""
    record = run.find_sample(wanted)
    ids = {ask.id for ask in record.asks}
    responses = {response.request_id: response for response in run.responses() if response.request_id in ids}
    scores = tuple(
        score for score in run.scores() if score.sample_id == record.sample.id and score.task == record.task
    )
    settings = run.manifest.settings
    is_gone = run.manifest.imported is not None or is_python_name(settings["model"].value)
    if not with_tokens or is_gone:
        # A log of another program does not say how to open its model, and a Python program keeps its own.
        return Explanation(record, _explain_asks(record, responses, scores, None), scores)
    model = settings["model"].value
    was_offline = "offline" in settings and settings["offline"].value
    with offline_watch(RunSettings(model=model, offline=offline or was_offline)) as watch:
        watch.seal()
        commit = run.manifest.model.commit
        with closing(open_recorded_model(settings, commit)) as backend:
            return Explanation(record, _explain_asks(record, responses, scores, backend), scores)


def _explain_asks(
    record: SampleRecord, responses: dict[str, Response], scores: Sequence[Score], backend: Backend | None
) -> tuple[ExplainedAsk, ...]:
    explained = []
    # Only an author's code or post-processor knows what it looks for in an answer.
    by_others = {
        score.track
        for score in scores
        if score.rule in _OTHER_RULES or (score.rule or "").startswith(AUTHOR_RULE)
    }
    for ask_record in record.asks:
        ask = record.ask(ask_record)
        response = responses.get(ask_record.id)
        tokens: Sequence[Token] = backend.tokens(ask) if backend else ()
        attempts: tuple[Attempt, ...] = ()
        outcome = None if response is None else response.outcome
        if isinstance(outcome, Completion) and ask_record.track not in by_others:
            question = extract_question(ask.prompt) if isinstance(ask, Generate) else ""
            attempts = explain_output(outcome.outputs[0].text, record.sample, question=question)
        explained.append(ExplainedAsk(ask_record, ask, tuple(tokens), response, attempts))
    return tuple(explained)
