"""A model whose files lie on this machine, whatever computes it: what its small files and its tokenizer tell.

Card, identity, template, tokens and the plans of what is scored are the same for every engine that reads the
same files. Loads no weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from assay.backends.hf.arguments import check_revision, read_template, settle_context_length
from assay.backends.hf.generation import Draft, check_max_tokens, new_draft
from assay.backends.hf.likelihood import Rows
from assay.backends.hf.loading import load_tokenizer
from assay.backends.hf.work_counters import Counters
from assay.backends.local.chat_prompts import find_template_failure
from assay.backends.local.context_length import check_context_length
from assay.backends.local.generation_plans import GenerationJob
from assay.backends.local.hub_files import HubCommit
from assay.backends.local.model_files import ModelFiles
from assay.backends.local.model_search import find_files
from assay.backends.local.scoring_plans import (
    PendingPlans,
    ScoringPlan,
    plan_labels,
    plan_span,
    plan_windows,
)
from assay.backends.local.tokenization import EncodedLabels, EncodedSpan, EncodedWindows, Tokenization
from assay.backends.problems import template_error
from assay.core.ids import digest
from assay.core.model import ModelCard, ModelIdentity, Token
from assay.core.request import Ask, Generate, Kind, Labels, Request, Span
from assay.core.response import Failure, Response


class FileArguments(Protocol):
    """What can be set on any model that is read from files."""

    @property
    def revision(self) -> str | None:
        """Return the revision of a hub repository."""

    @property
    def trust_remote_code(self) -> bool:
        """Return whether code that comes with the files may run."""

    @property
    def chat_template(self) -> str | None:
        """Return the path of a template to use instead of the model's own."""

    @property
    def context_length(self) -> int | None:
        """Return how many tokens it is given at most."""


class LocalModel:
    """What is known of a model without its weights."""

    kind = ""
    takes_media = True
    """Whether the engine can show a model what it takes beside text."""
    computed_by: tuple[str, ...] = ("torch", "transformers", "tokenizers")
    """The packages whose versions may change a number's last digits."""

    def __init__(self, where: str, args: FileArguments, *, files: ModelFiles | None = None) -> None:
        """Check that the files are there."""
        self._where = where
        self._file_args = args
        if files is None:
            check_revision(where, args.revision, backend=self.kind)
            files = find_files(where, args.revision, with_code=args.trust_remote_code, backend=self.kind)
        self._files = files
        self._own_template = read_template(args.chat_template)
        self._counters = Counters()

    @property
    def _name(self) -> str:
        return f"{self.kind}:{self._where}" if self._where else self.kind

    @cached_property
    def card(self) -> ModelCard:
        """Return what the model can do, from its small files."""
        self._check_config()
        return ModelCard(
            name=self._name,
            kinds=frozenset(Kind),
            is_chat=self._template is not None,
            context_length=self._context_length,
            stops_at_tokens=True,
            media=self._files.media if self.takes_media else frozenset(),
        )

    def probe_card(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Return the card, which is known without asking; raise MODEL-020 for an unusable chat template.

        `assay run` asks for it before weights are read. In plain text the template plays no part.
        """
        if is_chat and self._template is not None:
            self._check_template(self._template)
        return self.card

    def _check_template(self, template: str) -> None:
        failure = find_template_failure(template, in_parts=bool(self._files.media))
        # Code that comes with the files may render what is no Jinja template.
        if failure is None or (self._file_args.trust_remote_code and not failure.is_limit):
            return
        own = self._file_args.chat_template
        whose = f"the chat template of {self._name}" if own is None else f"the chat template {own}"
        raise template_error(f"{whose} {'does not end' if failure.is_limit else 'does not parse'}: {failure}")

    def tokens(self, ask: Ask) -> Sequence[Token]:
        """Return how the model reads an ask; reads the tokenizer, not the weights."""
        return self._tokenization.tokens(ask)

    def n_tokens(self, ask: Ask) -> int | None:
        """Return how much of the context an ask needs; reads the tokenizer, not the weights."""
        return self._tokenization.n_tokens(ask)

    def file_hashes(self) -> Mapping[str, str]:
        """Return the hash of each file that the identity is made of; empty where a commit names them all."""
        return self._files.hashes

    def fetch(self) -> None:
        """Download what is not on this machine; load nothing."""
        self._source  # noqa: B018 - found once

    def pin(self, commit: str) -> None:
        """Use this commit of a hub repository, whatever its branch names by now."""
        if isinstance(self._files, HubCommit):
            self._files.pin(commit)

    # --- for the engines ---

    def _prompt_notes(self) -> tuple[str, ...]:
        """Say where the files came from, and what the template did to conversations that were rendered."""
        rendered = self._tokenization.notes() if "_tokenization" in self.__dict__ else ()
        return (*self._files.notes, *rendered)

    def _identity(self, dtype: str, args: Mapping[str, str | int | float | bool]) -> ModelIdentity:
        """Return who the model is: the hash of its files, its number type, its template."""
        return ModelIdentity(
            backend=self.kind,
            name=self._name,
            weights=self._files.weights(),
            revision=self._files.revision if isinstance(self._files, HubCommit) else "",
            dtype=dtype,
            template=digest(self._template) if self._template else "",
            args=dict(args),
        )

    def _check_config(self) -> None:
        """Raise where the small files say that this engine cannot load the model."""

    @cached_property
    def _context_length(self) -> int | None:
        return settle_context_length(self._file_args.context_length, self._files.context_length)

    @property
    def _template(self) -> str | None:
        return self._own_template if self._own_template is not None else self._files.chat_template

    @cached_property
    def _source(self) -> Path:
        return self._files.ready()

    @cached_property
    def _tokenizer(self) -> Any:
        # A processor's template is its own; the tokenizer beside it need not have it.
        template = self._template if self._files.media else self._own_template
        return load_tokenizer(
            self._files.tokenizer_source(),
            chat_template=template,
            trust_remote_code=self._file_args.trust_remote_code,
        )

    @cached_property
    def _tokenization(self) -> Tokenization:
        return Tokenization(self._tokenizer, self.card.context_length, in_parts=bool(self._files.media))

    def _planned(self, requests: Sequence[Request], rows: Rows, waiting: PendingPlans) -> Iterator[Response]:
        """Book the rows that SPAN and LABELS requests need; yield the failures of those that have none."""
        for request, encoded in self._encoded(requests):
            trouble = (
                encoded
                if isinstance(encoded, Failure)
                else check_context_length(encoded.n_tokens, self._context_length)
            )
            if trouble is not None:
                yield Response(request.id, request.key, trouble)
                continue
            plan: ScoringPlan
            if isinstance(encoded, EncodedSpan):
                plan = plan_span(rows, request, encoded)
                self._counters.prompt_tokens += len(encoded.ids)
            elif isinstance(encoded, EncodedWindows):
                plan = plan_windows(rows, request, encoded)
                self._counters.prompt_tokens += encoded.n_prompt_tokens + encoded.n_scored
            else:
                assert isinstance(encoded, EncodedLabels)
                plan = plan_labels(rows, request, encoded)
                self._counters.prompt_tokens += len(encoded.context)
            for row in {reading.row for reading in plan.readings}:
                waiting.setdefault(row, []).append(plan)

    def _encoded(
        self, requests: Sequence[Request]
    ) -> Iterator[tuple[Request, EncodedSpan | EncodedWindows | EncodedLabels | Failure]]:
        spans = [(r, r.ask) for r in requests if isinstance(r.ask, Span)]
        yield from zip(
            [r for r, _ in spans], self._tokenization.spans([ask for _, ask in spans]), strict=True
        )
        labels = [(r, r.ask) for r in requests if isinstance(r.ask, Labels)]
        yield from zip(
            [r for r, _ in labels], self._tokenization.labels([ask for _, ask in labels]), strict=True
        )

    def _plan_drafts(
        self, requests: Sequence[Request], owner: dict[Draft, GenerationJob]
    ) -> Iterator[Response]:
        """Book the texts that GENERATE requests need; yield the failures of those that have none."""
        jobs: dict[object, GenerationJob] = {}
        prompts = self._tokenization.prompts([request.ask.prompt for request in requests])
        for request, prompt in zip(requests, prompts, strict=True):
            assert isinstance(request.ask, Generate)
            trouble = (
                prompt
                if isinstance(prompt, Failure)
                else check_context_length(len(prompt) + 1, self._context_length)
            )
            trouble = check_max_tokens(request.ask.sampling) or trouble
            if trouble is not None:
                yield Response(request.id, request.key, trouble)
                continue
            assert isinstance(prompt, tuple)
            self._counters.prompt_tokens += len(prompt)
            sampling = request.ask.sampling
            is_sampled = sampling.temperature > 0
            same = (prompt, sampling, request.ask.stop_ids, request.key if is_sampled else "")
            if same not in jobs:
                # Greedy repeats are equal: written once.
                room = None if self._context_length is None else self._context_length - len(prompt)
                drafts = [
                    new_draft(prompt, sampling, room, request.key, n, request.ask.stop_ids)
                    for n in range(sampling.n if is_sampled else 1)
                ]
                jobs[same] = GenerationJob(drafts, [])
            jobs[same].requests.append(request)
        owner.update((draft, job) for job in jobs.values() for draft in job.drafts)
