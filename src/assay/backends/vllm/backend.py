"""Backend for a model in vLLM's engine: files and tokens as in `hf`, computed by vLLM.

This module submits requests to the engine and collects the answers. The constructor checks files and
arguments; the engine is created when the first request is pulled.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, count
from typing import Any, NamedTuple, Protocol

from assay.backends.hf.batching import iter_windows
from assay.backends.hf.device_placement import resolve_device, resolve_dtype
from assay.backends.hf.generation import Draft, EndDetector, begin_answer, stop_length
from assay.backends.hf.likelihood import Rows
from assay.backends.hf.work_counters import Counters
from assay.backends.local.adapter_files import find_adapter
from assay.backends.local.generation_plans import GenerationJob
from assay.backends.local.hub_files import HubGgufFiles
from assay.backends.local.local_model import LocalModel
from assay.backends.local.model_files import GgufFiles
from assay.backends.local.request_sizes import count_ask_chars
from assay.backends.local.scoring_plans import PendingPlans, complete_requests
from assay.backends.problems import VLLM_EXTRA, load_error, require_packages
from assay.backends.vllm.arguments import read_vllm_settings
from assay.backends.vllm.engine import VllmEngine, open_engine
from assay.backends.vllm.prefill_jobs import ReadJob, plan_reads
from assay.backends.vllm.token_engine import (
    AskRejected,
    EngineAnswer,
    EngineAsk,
    TokenEngine,
    WriteAnswer,
    WriteAsk,
)
from assay.core.ids import make_random
from assay.core.model import ModelIdentity
from assay.core.request import Generate, Request
from assay.core.response import Finish, Output, Response

AHEAD = 1.25
"""Jobs in the engine, relative to those it computes together: a finished job is replaced at once."""


_NUMBERS = count(1)
"""Never used twice: an engine may outlive the queue that used it."""


class Job(Protocol):
    """A request to the engine, and the code that takes its answer."""

    @property
    def ask(self) -> EngineAsk:
        """Return the request."""

    def take(self, answer: EngineAnswer, seconds: float) -> Sequence[Job]:
        """Take the answer and its duration; return the jobs that follow."""

    def reject(self, why: str) -> None:
        """Record that there will be no answer."""


class _Running(NamedTuple):
    job: Job
    began: float
    """Value of the shared clock at its start."""


class EngineQueue:
    """Jobs in an engine, and jobs that wait for it."""

    def __init__(self, engine: TokenEngine, counters: Counters) -> None:
        self._engine = engine
        self._counters = counters
        self._waiting: deque[Job] = deque()
        self._running: dict[int, _Running] = {}
        self._clock = 0.0
        """Adds up the seconds of each step, divided by the number of jobs in the engine at the time."""

    @property
    def is_idle(self) -> bool:
        """Return whether there are no jobs left."""
        return not self._waiting and not self._running

    @property
    def wants_more(self) -> bool:
        """Return whether fewer jobs wait than the engine could start."""
        return len(self._waiting) < self._engine.max_sequences

    def add(self, jobs: Iterable[Job]) -> None:
        """Append jobs to the queue."""
        self._waiting.extend(jobs)

    def step(self) -> list[Job]:
        """Compute one step of the engine; return the finished jobs."""
        done = self._fill()
        if not self._running:
            return done
        began = time.perf_counter()
        answers = self._engine.step()
        self._clock += (time.perf_counter() - began) / len(self._running)
        self._counters.batches += 1
        following: list[Job] = []
        for number, answer in answers:
            job, entered = self._running.pop(number)
            self._count(job.ask, answer)
            following.extend(job.take(answer, self._clock - entered))
            done.append(job)
        self._waiting.extendleft(reversed(following))
        return done

    def close(self) -> None:
        """Cancel all jobs in the engine: nobody waits for them."""
        if self._running:
            self._engine.drop(list(self._running))
        self._running.clear()
        self._waiting.clear()

    def _fill(self) -> list[Job]:
        """Fill the engine up to its capacity; return jobs that it rejects."""
        rejected: list[Job] = []
        while self._waiting and len(self._running) < self._engine.max_sequences * AHEAD:
            job = self._waiting.popleft()
            number = next(_NUMBERS)
            try:
                self._engine.add(number, job.ask)
            except AskRejected as why:
                job.reject(str(why))
                rejected.append(job)
            else:
                self._running[number] = _Running(job, self._clock)
        return rejected

    def _count(self, ask: EngineAsk, answer: EngineAnswer) -> None:
        written = len(answer.ids) if isinstance(answer, WriteAnswer) else 0
        self._counters.generated_tokens += written
        # The last generated token is not read.
        self._counters.forward_tokens += len(ask.prompt) - answer.n_cached + max(0, written - 1)


class WriteJob:
    """Generates one draft."""

    def __init__(self, draft: Draft, ending: EndDetector) -> None:
        self.draft = draft
        self._ending = ending
        sampling = draft.sampling
        is_sampled = sampling.temperature > 0
        # The engine supports stop strings only; stop token sequences are searched in its output.
        # It would also find a stop string inside a thought.
        stops = () if draft.stop_ids or draft.thought is not None else sampling.stop
        inner = frozenset[int]() if draft.thought is None else draft.thought.inner_end_ids
        self.ask = WriteAsk(
            draft.prompt,
            draft.max_new,
            (ending.end_ids | ending.special_ids(stops)) - inner,
            stops,
            sampling.temperature,
            sampling.top_p,
            # A seed per text, so that the result does not depend on the batch.
            make_random(sampling.seed or 0, draft.key, str(draft.number)).getrandbits(63)
            if is_sampled
            else None,
        )

    def take(self, answer: EngineAnswer, seconds: float) -> Sequence[Job]:
        """Finish the draft. The text is decoded from the tokens, as in all local backends."""
        assert isinstance(answer, WriteAnswer)
        draft = self.draft
        draft.seconds += seconds
        if draft.thought is not None:
            return self._take_thought(draft, answer)
        draft.ids.extend(answer.ids)
        if draft.stop_ids:
            ends = (n for n in range(1, len(draft.ids)) if stop_length(draft.ids[:n], draft.stop_ids))
            del draft.ids[next(ends, len(draft.ids)) :]
        self._ending.check(draft)
        if draft.output is None:
            # A stop string that only the engine saw, or an end token that only its configuration knows.
            finish = Finish.STOP if answer.is_stopped else Finish.END
            text = answer.text if answer.is_stopped else self._ending.text(draft.ids)
            draft.output = Output(text, finish, len(draft.ids))
        return ()

    def _take_thought(self, draft: Draft, answer: WriteAnswer) -> Sequence[Job]:
        """Find the answer after the thought; a thought that used up its budget is ended first."""
        for token in answer.ids:
            draft.ids.append(token)
            self._ending.check(draft)
            if draft.is_done:
                break
        if draft.needs_answer:
            return [AnswerJob(draft, self._ending)]
        if draft.output is None:
            self._ending.finish(draft, Finish.END)
        return ()

    def reject(self, why: str) -> None:
        """Record that the text failed."""
        self.draft.failure = ("engine", why)


class AnswerJob(WriteJob):
    """Generates the answer after a thought that Assay ended."""

    def __init__(self, thinking: Draft, ending: EndDetector) -> None:
        super().__init__(begin_answer(thinking), ending)
        self._answer = self.draft
        self._thinking = thinking

    def take(self, answer: EngineAnswer, seconds: float) -> Sequence[Job]:
        """Finish the draft whose thought it follows."""
        super().take(answer, seconds)
        self._ending.take_answer(self._thinking, self._answer)
        self.draft = self._thinking
        return ()

    def reject(self, why: str) -> None:
        """Record that the text failed."""
        self._thinking.failure = ("engine", why)
        self.draft = self._thinking


WINDOW_REQUESTS = 1024
WINDOW_CHARS = 2_000_000
"""How much is pulled and sorted at once: enough to find shared prefixes, little enough for flat memory."""


class VllmBackend(LocalModel):
    """A causal language model in vLLM's engine."""

    kind = "vllm"
    takes_media = False
    computed_by = (*LocalModel.computed_by, "vllm")

    def __init__(self, where: str, args: Mapping[str, str]) -> None:
        """Check arguments, packages and files; load nothing."""
        self._vllm_settings = read_vllm_settings(args)
        require_packages("vllm", needed_by=f"vllm:{where}", fix=VLLM_EXTRA)
        super().__init__(where, self._vllm_settings.args)
        if isinstance(self._files, GgufFiles | HubGgufFiles):
            raise load_error(f"{self._name}: vLLM does not read GGUF files", f"write hf:{where}")
        self._engine: VllmEngine | None = None

    # --- the port ---

    def identity(self) -> ModelIdentity:
        """Return the model's identity: the hash of its files and adapter, its number type, its template."""
        return self._identity(self._dtype, self._vllm_settings.collect_identity_args())

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Pull requests while the engine has capacity, and yield answers as they finish."""
        source = iter_windows(requests, at_most=WINDOW_REQUESTS, size=_n_chars, total=WINDOW_CHARS)
        first = next(source, None)
        if first is None:
            return
        flow = EngineQueue(self._load(), self._counters)
        try:
            yield from self._answer_requests(chain([first], source), flow)
        finally:
            flow.close()

    @property
    def has_more_at_hand(self) -> bool:
        """Return False: the answers of a step are stored before the next step."""
        return False

    def stats(self) -> Mapping[str, float]:
        """Return the numbers of prompt, generated and computed tokens, engine steps, and the load time."""
        return self._counters.as_dict()

    def notes(self) -> Sequence[str]:
        """Return notes about changed prompts, and whether the engine shares no prefixes."""
        notes = self._prompt_notes()
        if self._engine is None or self._engine.shares:
            return notes
        return (
            *notes,
            f"{self._name}: every sequence was computed separately, because vLLM caches no prefixes for it",
        )

    def close(self) -> None:
        """Release the engine."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None
            self.__dict__.pop("_end_detector", None)

    # --- parts, created when they are first needed ---

    @cached_property
    def _dtype(self) -> str:
        dtype = self._vllm_settings.args.dtype
        return dtype if dtype != "auto" else resolve_dtype("auto", resolve_device("auto"), self._files.dtype)

    @cached_property
    def _end_detector(self) -> EndDetector:
        return EndDetector(self._tokenizer, self._load().end_ids)

    def _load(self) -> VllmEngine:
        if self._engine is None:
            began = time.perf_counter()
            self._tokenization  # noqa: B018 - a broken tokenizer should fail before gigabytes are read
            self._engine = open_engine(
                self._source,
                dtype=self._dtype,
                context_length=self._context_length,
                settings=self._settings(),
                adapter=None
                if self._vllm_settings.args.lora is None
                else find_adapter(self._vllm_settings.args.lora),
            )
            self._counters.load_seconds += time.perf_counter() - began
        return self._engine

    def _settings(self) -> dict[str, Any]:
        """Return the arguments of vLLM's engine."""
        args = self._vllm_settings.args
        named = {
            "trust_remote_code": args.trust_remote_code,
            "tensor_parallel_size": args.tensor_parallel_size,
            "pipeline_parallel_size": args.pipeline_parallel_size,
            "gpu_memory_utilization": args.gpu_memory_utilization,
            "kv_cache_memory_bytes": None if args.kv_cache_gib is None else int(args.kv_cache_gib * 2**30),
            "max_num_seqs": args.max_num_seqs,
            "max_num_batched_tokens": args.max_num_batched_tokens,
            "block_size": args.block_size,
            "enforce_eager": args.enforce_eager,
            "enable_prefix_caching": args.enable_prefix_caching,
            "quantization": args.quantization,
            "kv_cache_dtype": args.kv_cache_dtype,
            "seed": args.seed,
        }
        settings = {name: value for name, value in named.items() if value is not None}
        return settings | self._vllm_settings.engine

    # --- requests to jobs ---

    def _answer_requests(self, source: Iterator[Sequence[Request]], flow: EngineQueue) -> Iterator[Response]:
        waiting: PendingPlans = {}
        owner: dict[Draft, GenerationJob] = {}
        while True:
            # One window per step: many requests may share one job, and pulling would never end.
            if flow.wants_more and (window := next(source, None)) is not None:
                yield from self._submit_window(window, flow, waiting, owner)
            elif flow.is_idle:
                return
            for job in flow.step():
                if isinstance(job, ReadJob):
                    yield from complete_requests([row for row in job.own_rows if row.is_done], waiting)
                elif isinstance(job, WriteJob) and not job.draft.needs_answer:
                    yield from _finish_draft(job.draft, owner)

    def _submit_window(
        self,
        window: Sequence[Request],
        flow: EngineQueue,
        waiting: PendingPlans,
        owner: dict[Draft, GenerationJob],
    ) -> Iterator[Response]:
        """Queue the jobs of a window; yield a failure for each request that cannot be answered."""
        rows = Rows()
        yield from self._plan_rows([r for r in window if not isinstance(r.ask, Generate)], rows, waiting)
        engine = self._load()
        flow.add(plan_reads(list(rows), shares=engine.shares, reads_own=engine.reads_own))
        new: dict[Draft, GenerationJob] = {}
        yield from self._plan_drafts([r for r in window if isinstance(r.ask, Generate)], new)
        owner.update(new)
        flow.add(WriteJob(draft, self._end_detector) for draft in new)


def _n_chars(request: Request) -> int:
    return count_ask_chars(request.ask)


def _finish_draft(draft: Draft, owner: dict[Draft, GenerationJob]) -> Iterator[Response]:
    """Yield the responses that waited only for this text."""
    job = owner.pop(draft)
    if not any(other in owner for other in job.drafts):
        yield from job.responses()
