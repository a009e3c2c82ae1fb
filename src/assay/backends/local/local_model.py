"""A model with local files, whatever engine runs it: everything known from its small files and its tokenizer.

Card, identity, template, tokens and scoring plans are the same for every engine that reads the same files.
Loads no weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from assay.backends.arguments import read_thinking_argument
from assay.backends.hf.arguments import (
    check_revision,
    read_template,
    read_template_variables,
    settle_context_length,
)
from assay.backends.hf.generation import Draft, check_max_tokens, new_draft
from assay.backends.hf.likelihood import Rows
from assay.backends.hf.loading import load_tokenizer
from assay.backends.hf.work_counters import Counters
from assay.backends.local.chat_prompts import find_template_failure
from assay.backends.local.context_length import check_context_length
from assay.backends.local.generation_plans import GenerationJob
from assay.backends.local.hub_files import HubCommit
from assay.backends.local.label_spellings import EncodedLabels
from assay.backends.local.model_files import ModelFiles, count_parameters
from assay.backends.local.model_search import find_files
from assay.backends.local.scoring_plans import (
    PendingPlans,
    ScoringPlan,
    plan_labels,
    plan_span,
    plan_windows,
)
from assay.backends.local.thoughts import (
    ThoughtMaker,
    choose_switches,
    find_thought_marks,
    needs_no_switch,
)
from assay.backends.local.tokenization import EncodedSpan, EncodedWindows, Tokenization
from assay.backends.problems import argument_error, missing_files_error, template_error
from assay.core.errors import listing
from assay.core.ids import digest
from assay.core.model import ModelCard, ModelIdentity, Token
from assay.core.request import Ask, Generate, Kind, Labels, Request, Span
from assay.core.response import Failure, Response
from assay.core.time_profile import measuring


class FileArguments(Protocol):
    """Arguments of any model that is read from files."""

    @property
    def revision(self) -> str | None:
        """Return the revision of a hub repository."""

    @property
    def trust_remote_code(self) -> bool:
        """Return whether code that comes with the model's files may run."""

    @property
    def chat_template(self) -> str | None:
        """Return the path of a template to use instead of the model's own, or the name of one of its own."""

    @property
    def chat_template_kwargs(self) -> str | None:
        """Return further variables of the template, a JSON object."""

    @property
    def add_bos_token(self) -> bool | None:
        """Return whether a text begins with the BOS token; None if the tokenizer decides."""

    @property
    def context_length(self) -> int | None:
        """Return the maximum number of tokens to give the model."""

    @property
    def thinking(self) -> str | None:
        """Return whether and how much the model thinks; None: as its template does."""

    @property
    def thoughts(self) -> Literal["apart", "inline"]:
        """Return whether thoughts are kept apart from answers."""


class SpecialTokens(NamedTuple):
    """Special tokens of a tokenizer, each with its id; None for those that it does not have."""

    pad: tuple[str | None, int | None]
    unk: tuple[str | None, int | None]
    eos: tuple[str | None, int | None]
    bos: tuple[str | None, int | None]
    chat_template: str | None


class LocalModel:
    """What is known about a model without its weights."""

    kind = ""
    takes_media = True
    """Whether the engine supports media in prompts."""
    computed_by: tuple[str, ...] = ("torch", "transformers", "tokenizers")
    """Packages whose versions can change the last digits of a number."""

    def __init__(self, where: str, args: FileArguments, *, files: ModelFiles | None = None) -> None:
        """Check that the files exist."""
        self._where = where
        self._file_args = args
        if files is None:
            check_revision(where, args.revision, backend=self.kind)
            files = find_files(where, args.revision, with_code=args.trust_remote_code, backend=self.kind)
        self._files = files
        self._template_file = read_template(args.chat_template)
        self._given_variables = read_template_variables(args.chat_template_kwargs)
        self._thinking = read_thinking_argument(args.thinking, self.kind)
        self._counters = Counters()

    @property
    def _name(self) -> str:
        return f"{self.kind}:{self._where}" if self._where else self.kind

    @cached_property
    def card(self) -> ModelCard:
        """Return the model's abilities, from its small files."""
        self._check_config()
        choose_switches(self._thinking, self._template, self._name)
        return ModelCard(
            name=self._name,
            kinds=frozenset(Kind),
            is_chat=self._template is not None,
            context_length=self._context_length,
            stops_at_tokens=True,
            media=self._files.media if self.takes_media else frozenset(),
            thinks=self._thinking is not None and self._thinking.is_on,
        )

    def probe_card(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Return the card; raise MODEL-020 for an unusable chat template.

        `assay run` calls this before it reads weights. Plain text does not need the template.
        """
        if is_chat and self._template is not None:
            self._check_template(self._template)
        return self.card

    def _check_template(self, template: str) -> None:
        failure = find_template_failure(template, in_parts=bool(self._files.media))
        # Code that comes with the model may render a template that is not Jinja.
        if failure is None or (self._file_args.trust_remote_code and not failure.is_limit):
            return
        own = self._file_args.chat_template
        whose = f"the chat template of {self._name}" if own is None else f"the chat template {own}"
        raise template_error(f"{whose} {'does not end' if failure.is_limit else 'does not parse'}: {failure}")

    def tokens(self, ask: Ask) -> Sequence[Token]:
        """Return the tokens of a request; reads the tokenizer, not the weights."""
        return self._tokenization.tokens(ask)

    def special_tokens(self) -> SpecialTokens:
        """Return the tokenizer's special tokens; reads the tokenizer, not the weights."""
        tokenizer = self._tokenizer
        names = ("pad", "unk", "eos", "bos")
        pad, unk, eos, bos = (
            (getattr(tokenizer, f"{name}_token"), getattr(tokenizer, f"{name}_token_id")) for name in names
        )
        return SpecialTokens(pad, unk, eos, bos, tokenizer.chat_template)

    def find_reply_text(self, token_id: int) -> str | None:
        """Return the text of a token in a reply; None for a special token, which replies do not show."""
        if not 0 <= token_id < len(self._tokenizer):
            return None
        text: str = self._tokenizer.decode([token_id], skip_special_tokens=True)
        return text or None

    def n_tokens(self, ask: Ask) -> int | None:
        """Return how much of the context a request needs; reads the tokenizer, not the weights."""
        return self._tokenization.n_tokens(ask)

    def file_hashes(self) -> Mapping[str, str]:
        """Return the hash of each file in the identity; empty if a commit identifies all files."""
        return self._files.hashes

    def count_parameters(self) -> int | None:
        """Return the number of weights; None if the files do not say it."""
        return count_parameters(self._source)

    def fetch(self) -> None:
        """Download the files that are missing on this machine; load nothing."""
        self._source  # noqa: B018 - found once

    def pin(self, commit: str) -> None:
        """Use this commit of a hub repository, even if its branch has moved."""
        if isinstance(self._files, HubCommit):
            self._files.pin(commit)

    # --- for the engines ---

    def _prompt_notes(self) -> tuple[str, ...]:
        """Return notes about where the files came from, and how the template changed conversations."""
        rendered = self._tokenization.notes() if "_tokenization" in self.__dict__ else ()
        return (*self._files.notes, *rendered, *self._thinking_notes())

    def _thinking_notes(self) -> Iterator[str]:
        """Yield notes about requested thinking that changed nothing."""
        if needs_no_switch(self._thinking, self._template):
            yield f"{self._name}: no thinking in its chat template, so --thinking off has no effect"
        if self._thinking is None or "_thoughts" not in self.__dict__:
            return
        counts, is_on = self._thoughts.counts, self._thinking.is_on
        if is_on and counts.n_texts and not counts.n_thoughts:
            yield f"{self._name} never thought, although --thinking {self._thinking.written} was requested"
        if not is_on and counts.n_thoughts:
            yield (
                f"{self._name} thought before {counts.n_thoughts:,} of {counts.n_texts:,} answers, although "
                "--thinking off was requested"
            )
        if is_on and (n := self._thoughts.n_begun):
            yield (
                f"{self._name} did not think before {n:,} answers, because the dataset begins these replies "
                "itself"
            )

    def _identity(self, dtype: str, args: Mapping[str, str | int | float | bool]) -> ModelIdentity:
        """Return the model's identity: the hash of its files, its number type, its template."""
        return ModelIdentity(
            backend=self.kind,
            name=self._name,
            weights=self._files.weights(),
            revision=self._files.revision if isinstance(self._files, HubCommit) else "",
            dtype=dtype,
            template=digest(self._template) if self._template else "",
            args={**args, **self._describe_prompts()},
        )

    def _describe_prompts(self) -> dict[str, str | int | float | bool]:
        """Return the arguments that change how prompts are written."""
        changed: dict[str, str | int | float | bool] = {}
        if self._template_variables:
            encoded = msgspec.json.encode(self._template_variables, order="sorted")
            changed["chat_template_kwargs"] = encoded.decode()
        if self._file_args.add_bos_token is not None:
            changed["add_bos_token"] = self._file_args.add_bos_token
        return changed

    def _check_config(self) -> None:
        """Raise if the small files show that this engine cannot load the model."""

    @cached_property
    def _context_length(self) -> int | None:
        return settle_context_length(self._file_args.context_length, self._files.context_length)

    @property
    def _template(self) -> str | None:
        name = self._file_args.chat_template
        if name is None or self._template_file is not None:
            return self._files.chat_template if name is None else self._template_file
        templates = self._files.named_templates
        if name not in templates:
            has = f"its templates are {listing(templates)}" if templates else "it has only one template"
            what = f"{self._name} has no chat template {name!r}, and there is no such file: {has}"
            raise missing_files_error(what, "omit the name, or give the path of a jinja file")
        return templates[name]

    @cached_property
    def _source(self) -> Path:
        return self._files.prepare_path()

    @cached_property
    def _tokenizer(self) -> Any:
        # A processor has its own template; the tokenizer next to it may have none.
        is_replaced = self._file_args.chat_template is not None
        template = self._template if self._files.media or is_replaced else None
        with measuring("load"):
            return load_tokenizer(
                self._files.tokenizer_source(),
                chat_template=template,
                trust_remote_code=self._file_args.trust_remote_code,
            )

    @cached_property
    def _tokenization(self) -> Tokenization:
        return Tokenization(
            self._tokenizer,
            self.card.context_length,
            in_parts=bool(self._files.media),
            template_variables=self._template_variables,
            adds_bos=self._file_args.add_bos_token,
            n_thinking=self._thoughts.n_reserved,
        )

    @property
    def _template_variables(self) -> dict[str, Any]:
        """Return the variables of the chat template: those of the arguments, and those that set thinking."""
        given = self._given_variables
        switches = choose_switches(self._thinking, self._template, self._name)
        for name in switches:
            if name in given and given[name] != switches[name]:
                raise argument_error(
                    f"chat_template_kwargs sets {name!r} to {given[name]!r}, --thinking {switches[name]!r}",
                    f"remove --thinking, or {name!r} from chat_template_kwargs",
                )
        return {**given, **switches}

    @cached_property
    def _thoughts(self) -> ThoughtMaker:
        is_apart = self._file_args.thoughts == "apart"
        marks = find_thought_marks(self._template) if is_apart else None
        budget = None if self._thinking is None else self._thinking.budget
        return ThoughtMaker(self._tokenizer, marks, budget)

    def _plan_rows(
        self, requests: Sequence[Request], rows: Rows, waiting: PendingPlans
    ) -> Iterator[Response]:
        """Add the rows that SPAN and LABELS requests need; yield a failure for each that cannot be scored."""
        for request, encoded in self._encode_requests(requests):
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

    def _encode_requests(
        self, requests: Sequence[Request]
    ) -> Iterator[tuple[Request, EncodedSpan | EncodedWindows | EncodedLabels | Failure]]:
        spans = [(r, r.ask) for r in requests if isinstance(r.ask, Span)]
        labels = [(r, r.ask) for r in requests if isinstance(r.ask, Labels)]
        with measuring("tokenize"):
            encoded_spans = self._tokenization.spans([ask for _, ask in spans])
            encoded_labels = self._tokenization.labels([ask for _, ask in labels])
        yield from zip([r for r, _ in spans], encoded_spans, strict=True)
        yield from zip([r for r, _ in labels], encoded_labels, strict=True)

    def _plan_drafts(
        self, requests: Sequence[Request], owner: dict[Draft, GenerationJob]
    ) -> Iterator[Response]:
        """Add the texts that GENERATE requests need; yield a failure for each that cannot be answered."""
        jobs: dict[object, GenerationJob] = {}
        with measuring("tokenize"):
            prompts = self._tokenization.prompts([request.ask.prompt for request in requests])
        for request, prompt in zip(requests, prompts, strict=True):
            assert isinstance(request.ask, Generate)
            trouble = (
                prompt
                if isinstance(prompt, Failure)
                else check_context_length(len(prompt) + self._thoughts.n_reserved + 1, self._context_length)
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
                # Greedy repeats are identical, so one text is enough.
                room = None if self._context_length is None else self._context_length - len(prompt)
                drafts = [
                    new_draft(
                        prompt,
                        sampling,
                        room,
                        request.key,
                        n,
                        request.ask.stop_ids,
                        self._thoughts.make(request, prompt),
                    )
                    for n in range(sampling.n if is_sampled else 1)
                ]
                jobs[same] = GenerationJob(drafts, [])
            jobs[same].requests.append(request)
        owner.update((draft, job) for job in jobs.values() for draft in job.drafts)
