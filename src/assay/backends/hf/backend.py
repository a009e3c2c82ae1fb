"""Backend for a model in this process: transformers' weights, Assay's own tokenization and decode loop.

This module distributes requests to the parts (tokenization, likelihood, generation) and collects the answers.
The constructor checks files and arguments; weights are read when the first request is pulled.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import NamedTuple

from assay.backends.arguments import read_arguments
from assay.backends.hf.arguments import HfArgs, collect_thinking_args
from assay.backends.hf.batch_generation import BatchGenerator
from assay.backends.hf.batching import CPU_SIZES, GPU_SIZES, Budget, Sizes
from assay.backends.hf.compile_timing import watch_compilations
from assay.backends.hf.decoding_trial import prepare_decoding
from assay.backends.hf.device_placement import resolve_device, resolve_dtype
from assay.backends.hf.generation import Draft, EndDetector
from assay.backends.hf.likelihood import Row, Rows
from assay.backends.hf.loaded_model import LoadedModel
from assay.backends.hf.loading import check_model_type, load_model, load_processor
from assay.backends.hf.media_generation import MediaGenerator
from assay.backends.hf.media_prompts import MediaPrompts
from assay.backends.hf.packed_forward import SharedPrefixCache
from assay.backends.hf.row_scoring import (
    PREFIX_CACHE_BYTES,
    PackedScoring,
    PlainScoring,
    RowPlan,
    RowScoring,
    Trial,
    prepare_packing,
)
from assay.backends.hf.weight_options import WeightOptions, read_weight_options
from assay.backends.hf.window_feed import WindowFeed
from assay.backends.local.adapter_files import find_adapter
from assay.backends.local.generation_plans import GenerationJob
from assay.backends.local.hub_files import HubFiles
from assay.backends.local.local_model import LocalModel
from assay.backends.local.model_files import FolderFiles, ModelFiles
from assay.backends.local.request_sizes import NewCharCounter
from assay.backends.local.scoring_plans import PendingPlans, complete_requests
from assay.backends.problems import VISION_EXTRA, require_packages
from assay.core.media import Medium
from assay.core.model import ModelIdentity, Token
from assay.core.prompt import find_media
from assay.core.request import Ask, Generate, Request
from assay.core.response import Failure, Response
from assay.core.time_profile import iterate_measured, measuring

WINDOW_REQUESTS = 2048
WINDOW_CHARS = 2_000_000
"""How much is pulled and sorted at once: enough for even batches, little enough for flat memory."""
CPU_WRITES = 256
"""Texts generated from one window on a CPU. Samples are written in order, but texts finish in any order: with
more texts, the user would wait an hour for the first score."""

_WITH_WEIGHTS = ("_row_scoring", "_batch_generator", "_media_writing", "_prefixes", "_end_detector")
"""Parts that keep the weights in memory, or what was computed with them."""


class HfBackend(LocalModel):
    """A causal language model loaded by transformers."""

    def __init__(self, where: str, args: Mapping[str, str], *, files: ModelFiles | None = None) -> None:
        """Check arguments, packages and files; load nothing."""
        self._args = read_arguments(self.kind, HfArgs, args)
        super().__init__(where, self._args, files=files)
        require_packages("torch", "transformers", "gguf", needed_by=self._name)
        self._loaded: LoadedModel | None = None
        self._trial: Trial | None = None
        self._decoding_troubles: tuple[str, ...] = ()
        self._n_at_hand = 0
        """Responses that `run` can yield without waiting."""

    kind = "hf"

    # --- the port ---

    def identity(self) -> ModelIdentity:
        """Return the model's identity: the hash of its files, its number type, its template."""
        deciding: dict[str, str | int | bool | None] = {
            "attn": self._args.attn,
            "context_length": self._args.context_length,
            "load_in_4bit": self._args.load_in_4bit,
            "load_in_8bit": self._args.load_in_8bit,
            "lora": None if self._args.lora is None else find_adapter(self._args.lora).digest,
        }
        deciding |= collect_thinking_args(self._args.thinking, self._args.thoughts)
        return self._identity(self._dtype, {name: value for name, value in deciding.items() if value})

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Pull a window of requests, answer it batch by batch, pull the next.

        The next window is pulled and prepared while the device computes this one.
        """
        waiting: PendingPlans = {}
        size = partial(self._share_of_window, NewCharCounter())
        pulled = self._check_requests(requests)
        with WindowFeed(
            pulled, self._prepare, at_most=WINDOW_REQUESTS, size=size, total=WINDOW_CHARS
        ) as feed:
            feed.start()
            if feed.has_more:
                self._load()
            for window in iterate_measured("wait", feed):
                for response in self._answer(window, waiting):
                    if response is not None:
                        yield response
                    else:
                        feed.advance()
        if waiting:
            yield from complete_requests(self._row_scoring.drain(), waiting)

    def _check_requests(self, requests: Iterable[Request]) -> Iterator[Request]:
        """Yield the requests; a broken tokenizer and missing packages fail before gigabytes are read."""
        for request in requests:
            self._tokenization  # noqa: B018 - found once, before another thread needs it
            if self._shows_media(request.ask):
                self._media_prompts  # noqa: B018
            yield request

    @property
    def has_more_at_hand(self) -> bool:
        """Whether answers of the same batch follow: they are stored together, before the next batch."""
        return self._n_at_hand > 0

    def tokens(self, ask: Ask) -> Sequence[Token]:
        """Return the tokens of a request; reads the tokenizer, not the weights."""
        if not self._shows_media(ask):
            return super().tokens(ask)
        prompt = self._media_prompts.prepare_prompt(ask.prompt)
        return () if isinstance(prompt, Failure) else self._tokenization.name_tokens(prompt.ids)

    def n_tokens(self, ask: Ask) -> int | None:
        """Return how much of the context a request needs; reads the tokenizer, not the weights."""
        if not self._shows_media(ask):
            return super().n_tokens(ask)
        assert isinstance(ask, Generate)  # As all requests with media.
        prompt = self._media_prompts.prepare_prompt(ask.prompt)
        return None if isinstance(prompt, Failure) else len(prompt.ids) + ask.sampling.max_tokens

    def stats(self) -> Mapping[str, float]:
        """Return the counts of prompt, generated, computed and padding tokens, batches, and the load time.

        `forward_tokens` are all tokens computed; `padding_tokens`, a part of them, belong to no request.
        """
        return self._counters.as_dict()

    def notes(self) -> Sequence[str]:
        """Return notes about changed prompts, and why sequences could not be computed in the fastest way."""
        notes = self._prompt_notes()
        if self._decoding_troubles:
            troubles = "; ".join(self._decoding_troubles)
            notes = (*notes, f"{self._name}: texts were generated more slowly, because {troubles}")
        trial = self._trial
        if trial is None or not trial.troubles:
            return notes
        because = trial.troubles[-1]
        return (*notes, f"{self._name}: every sequence was computed {trial.how}, because {because}")

    def close(self) -> None:
        """Release the weights."""
        if self._loaded is None:
            return
        on_gpu = self._loaded.device.type == "cuda"
        self._loaded = None
        for part in _WITH_WEIGHTS:
            self.__dict__.pop(part, None)
        # A model's modules refer to each other: without a garbage collection, the weights would stay in
        # memory.
        gc.collect()
        if on_gpu:
            import torch

            torch.cuda.empty_cache()

    # --- parts, created when they are first needed ---

    @cached_property
    def _weight_options(self) -> WeightOptions:
        config = self._files.config if isinstance(self._files, FolderFiles | HubFiles) else None
        return read_weight_options(self._args, config, self._name)

    def _check_config(self) -> None:
        self._weight_options  # noqa: B018 - missing packages fail before weights are read
        if isinstance(self._files, HubFiles):
            check_model_type(self._files.config, self._name, trust_remote_code=self._args.trust_remote_code)

    @cached_property
    def _device(self) -> str:
        return resolve_device(self._args.device)

    @cached_property
    def _dtype(self) -> str:
        # A CPU build of torch, or an explicit dtype, decides this without importing torch.
        if self._args.dtype != "auto":
            return self._args.dtype
        return resolve_dtype("auto", self._device, self._files.dtype)

    @cached_property
    def _media_prompts(self) -> MediaPrompts:
        if Medium.IMAGE in self._files.media:
            require_packages("PIL", needed_by=f"{self._name} with images", fix=VISION_EXTRA)
        processor = load_processor(
            self._files.tokenizer_source(), trust_remote_code=self._args.trust_remote_code
        )
        return MediaPrompts(processor, self._tokenizer, self._template_variables)

    @property
    def _sizes(self) -> Sizes:
        return CPU_SIZES if self._device == "cpu" else GPU_SIZES

    @cached_property
    def _budget(self) -> Budget:
        return Budget(self._args.batch_tokens or self._sizes.batch_tokens, self._args.max_batch)

    @cached_property
    def _row_scoring(self) -> RowScoring:
        if self._prefixes is None:
            return PlainScoring(self._load(), self._budget, self._counters)
        lane_tokens = self._args.lane_tokens or self._sizes.lane_tokens
        return PackedScoring(self._load(), self._budget, self._counters, self._prefixes, lane_tokens)

    @cached_property
    def _batch_generator(self) -> BatchGenerator:
        with measuring("trial"):
            decoding = None if self._prefixes is None else prepare_decoding(self._load())
        self._decoding_troubles = () if decoding is None else decoding.troubles
        return BatchGenerator(
            self._load(), self._budget, self._counters, self._end_detector, self._prefixes, decoding
        )

    @cached_property
    def _media_writing(self) -> MediaGenerator:
        return MediaGenerator(
            self._load(),
            self._media_prompts,
            self._counters,
            self._end_detector,
            self._context_length,
            self._thoughts,
        )

    def _share_of_window(self, counter: NewCharCounter, request: Request) -> int:
        """Return how much of a window a request takes, in characters."""
        is_slow = self._device == "cpu" and isinstance(request.ask, Generate)
        return counter.count(request.ask) + (WINDOW_CHARS // CPU_WRITES if is_slow else 0)

    def _shows_media(self, ask: Ask) -> bool:
        """Return whether a request contains media that the model accepts."""
        media = find_media(ask.prompt)
        return bool(media) and isinstance(ask, Generate) and media <= self._files.media

    @cached_property
    def _prefixes(self) -> SharedPrefixCache | None:
        """Return the cache of shared prefixes; None if a trial shows that the model cannot share them."""
        # Shared prefixes are computed on one device.
        if self._args.plain or self._load().is_spread:
            return None
        loaded = self._load()
        with measuring("trial"):
            self._trial = prepare_packing(loaded)
        return SharedPrefixCache(PREFIX_CACHE_BYTES) if self._trial.packs else None

    @cached_property
    def _end_detector(self) -> EndDetector:
        assert self._loaded is not None
        model = self._loaded.model
        values = [model.config.eos_token_id]
        if getattr(model, "generation_config", None) is not None:
            values.append(model.generation_config.eos_token_id)
        lists = [ids if isinstance(ids, list) else [ids] for ids in values]
        return EndDetector(self._tokenizer, [id_ for ids in lists for id_ in ids if id_ is not None])

    def _load(self) -> LoadedModel:
        if self._loaded is None:
            began = time.perf_counter()
            with measuring("load"):
                self._tokenization  # noqa: B018 - a broken tokenizer should fail before gigabytes are read
                self._loaded = load_model(
                    self._source,
                    dtype=self._dtype,
                    device=self._device,
                    attn=self._args.attn,
                    trust_remote_code=self._args.trust_remote_code,
                    media=self._files.media,
                    weights=self._weight_options,
                )
                if self._loaded.has_kernels:
                    watch_compilations()
            self._counters.load_seconds += time.perf_counter() - began
        return self._loaded

    # --- windows ---

    def _prepare(self, requests: Sequence[Request]) -> _Window:
        """Return a window ready for the device; runs on another thread than the device's work."""
        waiting: PendingPlans = {}
        owner: dict[Draft, GenerationJob] = {}
        rows = Rows()
        shows = [r for r in requests if self._shows_media(r.ask)]
        writes = [r for r in requests if isinstance(r.ask, Generate) and not self._shows_media(r.ask)]
        with measuring("plan"):
            failures = list(
                self._plan_rows([r for r in requests if not isinstance(r.ask, Generate)], rows, waiting)
            )
            failures += self._plan_drafts(writes, owner)
        # The first window is prepared while the weights are read, so how to compute its rows is not known.
        plan = self._row_scoring.plan(list(rows)) if "_row_scoring" in self.__dict__ else None
        return _Window(failures, list(rows), plan, waiting, owner, shows)

    def _answer(self, window: _Window, waiting: PendingPlans) -> Iterator[Response | None]:
        """Yield the answers of a window, and None whenever there is time for other work."""
        yield from window.failures
        waiting.update(window.waiting)
        if window.rows:
            for done in self._row_scoring.run(window.rows, window.plan):
                yield from self._hand_over(list(complete_requests(done, waiting)))
                yield None
        if window.owner:
            yield from self._generate(window.owner)
        for request in window.shows:
            yield from self._media_writing.answer(request)

    def _hand_over(self, together: Sequence[Response]) -> Iterator[Response]:
        """Yield responses that arrived together, and count how many of them are left."""
        for number, response in enumerate(together, start=1):
            self._n_at_hand = len(together) - number
            yield response

    def _generate(self, owner: dict[Draft, GenerationJob]) -> Iterator[Response | None]:
        for done in iterate_measured("device", self._batch_generator.run(list(owner))):
            for draft in done:
                job = owner.pop(draft)
                if not any(other in owner for other in job.drafts):
                    yield from job.responses()
            yield None


class _Window(NamedTuple):
    """A prepared window of requests."""

    failures: Sequence[Response]
    """The answers to requests that cannot be computed."""
    rows: Sequence[Row]
    plan: RowPlan | None
    waiting: PendingPlans
    owner: dict[Draft, GenerationJob]
    """The texts to generate."""
    shows: Sequence[Request]
    """Requests with media."""
