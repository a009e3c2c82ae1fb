"""A text that an engine is to write, as a job."""

from __future__ import annotations

from collections.abc import Sequence

from assay.backends.hf.generation import Draft, EndDetector, stop_length
from assay.backends.vllm.engine_queue import Job
from assay.backends.vllm.token_engine import EngineAnswer, WriteAnswer, WriteAsk
from assay.core.ids import make_random
from assay.core.response import Finish, Output


class WriteJob:
    """One draft."""

    def __init__(self, draft: Draft, ending: EndDetector) -> None:
        self.draft = draft
        self._ending = ending
        sampling = draft.sampling
        is_sampled = sampling.temperature > 0
        # An engine knows stop strings alone: token sequences are looked for in what it wrote.
        stops = () if draft.stop_ids else sampling.stop
        self.ask = WriteAsk(
            draft.prompt,
            draft.max_new,
            ending.end_ids | ending.special_ids(stops),
            stops,
            sampling.temperature,
            sampling.top_p,
            # Its own, so that what is drawn does not depend on the company.
            make_random(sampling.seed or 0, draft.key, str(draft.number)).getrandbits(63)
            if is_sampled
            else None,
        )

    def take(self, answer: EngineAnswer, seconds: float) -> Sequence[Job]:
        """Finish the draft. The text is made of the tokens, as everywhere."""
        assert isinstance(answer, WriteAnswer)
        draft = self.draft
        draft.seconds += seconds
        draft.ids.extend(answer.ids)
        if draft.stop_ids:
            ends = (n for n in range(1, len(draft.ids)) if stop_length(draft.ids[:n], draft.stop_ids))
            del draft.ids[next(ends, len(draft.ids)) :]
        self._ending.check(draft)
        if draft.output is None:
            # A stop string that only the engine saw, or an end that only its configuration knows.
            finish = Finish.STOP if answer.is_stopped else Finish.END
            text = answer.text if answer.is_stopped else self._ending.text(draft.ids)
            draft.output = Output(text, finish, len(draft.ids))
        return ()

    def reject(self, why: str) -> None:
        """Note that there will be no text."""
        self.draft.failure = ("engine", why)
