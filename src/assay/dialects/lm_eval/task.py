"""The task of a task file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from assay.core.media import AnyMedia, Medium
from assay.core.method import Method
from assay.core.prompt import Message, Prompt
from assay.core.request import Ask, Generate, Labels, Request, Sampling, Span, Windows, make_request
from assay.core.sample import Sample
from assay.core.task import ComponentSpec, Scorer, TaskSpec
from assay.dialects.lm_eval.config import GENERATE_UNTIL, LOGLIKELIHOOD, ROLLING, TaskKeys
from assay.dialects.lm_eval.contexts import ChatForm, Contexts
from assay.dialects.lm_eval.evaluation import OWN_REQUEST, UNCONDITIONAL, Evaluation, TaskScoring
from assay.dialects.lm_eval.media import attach_media, read_medium
from assay.dialects.lm_eval.rendering import Document, DocumentReader, UnreadableValue
from assay.dialects.lm_eval.selection import SelectedTask
from assay.dialects.lm_eval.task_classes import list_instances, overrides
from assay.dialects.shared.described_task import DescribedTask, get_prompt_before_answer

SamplingReader = Callable[[Mapping[str, Any]], Sampling]
"""Returns the sampling that `generation_kwargs` describe, with the user's settings."""


class PreparedDocument(NamedTuple):
    """A document to evaluate."""

    number: int
    """Its number in the split, counted from 1."""
    doc: Document
    examples: Sequence[Document]


class LmEvalTask(DescribedTask):
    """One task file with one or more methods."""

    def __init__(
        self,
        spec: TaskSpec,
        samples: Sequence[Sample],
        documents: Mapping[str, PreparedDocument],
        scoring: TaskScoring,
        builder: RequestBuilder | ClassRequestBuilder,
        selected: SelectedTask,
    ) -> None:
        super().__init__(spec)
        self._samples = samples
        self._documents = documents
        self._scoring = scoring
        self._builder = builder
        self.selected = selected

    @property
    def scoring(self) -> TaskScoring:
        """Return how its documents are scored."""
        return self._scoring

    def document(self, sample_id: str) -> PreparedDocument:
        """Return the document of a sample."""
        return self._documents[sample_id]

    def prompts(self, sample_id: str) -> list[Prompt]:
        """Return the prompt of a sample before any answer; if the options are contexts, one for each."""
        prepared = self._documents[sample_id]
        return self._builder.write_prompts(prepared.doc, prepared.examples)

    def samples(self) -> Iterator[Sample]:
        """Yield the samples in the order of evaluation."""
        return iter(self._samples)

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        """Return the requests for a document for every method, with at most `shots` examples."""
        prepared = self._documents[sample.id]
        examples = prepared.examples if shots is None else prepared.examples[:shots]
        counts = (len(examples), len(prepared.examples) - len(examples))
        return [
            make_request(self._spec.name, sample.id, method, role, index, ask, *counts)
            for method in self._spec.methods
            for role, index, ask in self._builder.build(prepared.doc, examples, method)
        ]

    def preview_prompt(self, sample: Sample, method: Method) -> Prompt:
        """Return a document's prompt up to the answer, for display."""
        ask = next(request.ask for request in self.requests(sample) if request.track == method)
        return get_prompt_before_answer(ask)

    def scorers(self) -> Sequence[ComponentSpec | Scorer]:
        """Return the scorer of each method."""
        evaluation = Evaluation(
            self._scoring,
            {id_: prepared.doc for id_, prepared in self._documents.items()},
            {id_: prepared.number for id_, prepared in self._documents.items()},
        )
        return [
            ComponentSpec(
                "task_results", {"track": method, "author": evaluation, "inner": self._inner(method)}
            )
            for method in self._spec.methods
        ]

    def _inner(self, method: Method) -> ComponentSpec | None:
        """Return the scorer that compares the options for display; the task's metrics decide."""
        if not any(sample.choices for sample in self._samples):
            return None
        if method is Method.PROB:
            return ComponentSpec("label_probability", {"track": method})
        return ComponentSpec("option_likelihood", {"track": method, "score_by": "sum"})


class RequestBuilder:
    """Builds the asks for documents."""

    def __init__(
        self,
        keys: TaskKeys,
        reader: DocumentReader,
        contexts: Contexts,
        *,
        chat: ChatForm | None,
        scores_white_space: bool,
        sampling: Sampling,
        has_several_contexts: bool,
        needs_unconditional: bool,
    ) -> None:
        self._keys = keys
        self._reader = reader
        self._contexts = contexts
        self._chat = chat
        self._scores_white_space = scores_white_space
        self._sampling = sampling
        self._has_several_contexts = has_several_contexts
        self._needs_unconditional = needs_unconditional

    def write_prompts(self, doc: Document, examples: Sequence[Document]) -> list[Prompt]:
        """Return the prompts of a document before any answer."""
        media = self._read_media(doc)
        return [attach_media(one, media) for one in self._contexts.write(doc, examples, self._chat)]

    def build(
        self, doc: Document, examples: Sequence[Document], method: Method
    ) -> Iterator[tuple[str, int, Ask]]:
        """Yield (role, index, ask) for a document."""
        keys = self._keys
        if keys.output_type == ROLLING:
            yield "text", 0, Span(str(self._read_target(doc)), 0, windows=Windows("classic"))
            return
        prompts = self.write_prompts(doc, examples)
        if keys.output_type == GENERATE_UNTIL:
            for index in range(keys.repeats):
                yield "answer", index, Generate(prompts[0], self._sampling)
            return
        if keys.output_type == LOGLIKELIHOOD:
            yield "continuation", 0, self._build_span(prompts[0], str(self._read_target(doc)))
            return
        choices = [str(choice) for choice in self._reader.read_choices(doc, keys.doc_to_choice)]
        if method is Method.PROB:
            spellings = tuple((f" {choice.strip()}", choice.strip()) for choice in choices)
            yield "labels", 0, Labels(_strip_end(prompts[0]), spellings)
            return
        delimiter = self._delimiter()
        if self._has_several_contexts:
            after = f"{delimiter}{self._read_target(doc)}"
            for index, prompt in enumerate(prompts):
                yield "option", index, self._build_span(prompt, after)
        else:
            for index, choice in enumerate(choices):
                yield "option", index, self._build_span(prompts[0], f"{delimiter}{choice}")
        if self._needs_unconditional:
            for index, choice in enumerate(choices):
                yield UNCONDITIONAL, index, build_span("", f"{delimiter}{choice}")

    def _build_span(self, prompt: Prompt, continuation: str) -> Span:
        return build_span(prompt, continuation, scores_white_space=self._scores_white_space)

    def _read_media(self, doc: Document) -> list[AnyMedia]:
        keys = self._keys
        return [
            read_medium(value, medium)
            for key, medium in ((keys.doc_to_image, Medium.IMAGE), (keys.doc_to_audio, Medium.AUDIO))
            for value in self._reader.read_media(doc, key)
        ]

    def _read_target(self, doc: Document) -> Any:
        return self._reader.read_target(doc, self._keys.doc_to_target)

    def _delimiter(self) -> str:
        """Return what precedes an option; in a conversation nothing, unless it follows a begun reply."""
        prefix = self._keys.gen_prefix
        if self._chat is not None and (not prefix or prefix[-1:].isspace()):
            return ""
        return self._keys.target_delimiter


class ClassRequestBuilder:
    """Builds the asks of a task whose class constructs its requests itself."""

    def __init__(self, task: Any, keys: TaskKeys, contexts: Contexts, sampling: SamplingReader) -> None:
        self._task = task
        self._keys = keys
        self._contexts = contexts
        self._sampling = sampling

    def build(
        self, doc: Document, examples: Sequence[Document], method: Method
    ) -> Iterator[tuple[str, int, Ask]]:
        """Yield (role, index, ask) for a document."""
        instances = list_instances(self._task, self._keys.name, doc, 0, self._write_context(doc, examples))
        for index, instance in enumerate(instances):
            yield OWN_REQUEST, index, self._build_ask(instance)

    def write_prompts(self, doc: Document, examples: Sequence[Document]) -> list[Prompt]:
        """Return the context that the requests of a document get."""
        return [str(self._write_context(doc, examples))]

    def find_method(self, doc: Document, examples: Sequence[Document]) -> Method:
        """Return the method of a document's requests: a generated text decides."""
        asks = [ask for _, _, ask in self.build(doc, examples, Method.GEN)]
        return Method.GEN if any(isinstance(ask, Generate) for ask in asks) else Method.PPL

    def _write_context(self, doc: Document, examples: Sequence[Document]) -> Any:
        if overrides(self._task, "fewshot_context"):
            return self._task.fewshot_context(doc, num_fewshot=len(examples))
        return self._contexts.write(doc, examples)[0]

    def _build_ask(self, instance: Any) -> Ask:
        arguments = instance.args
        if instance.request_type == GENERATE_UNTIL:
            return Generate(str(arguments[0]), self._sampling(arguments[1]))
        if instance.request_type == LOGLIKELIHOOD:
            return build_span(str(arguments[0]), str(arguments[1]))
        if instance.request_type == ROLLING:
            return Span(str(arguments[0]), 0, windows=Windows("classic"))
        raise UnreadableValue(f"construct_requests gives a request of the type {instance.request_type!r}")


def build_span(prompt: Prompt, continuation: str, *, scores_white_space: bool = False) -> Span:
    """Return the ask for a continuation; white space before it belongs to it.

    `scores_white_space`: also white space that the chat template writes before it.
    """
    if isinstance(prompt, str):
        return Span(prompt + continuation, len(prompt.rstrip()))
    if prompt[-1].role == "assistant":
        begun = prompt[-1].text
        return Span(
            (*prompt[:-1], Message("assistant", begun + continuation)),
            len(begun.rstrip()),
            scores_white_space=scores_white_space and not begun.strip(),
        )
    return Span((*prompt, Message("assistant", continuation)), 0, scores_white_space=scores_white_space)


def _strip_end(prompt: Prompt) -> Prompt:
    return prompt.rstrip(" ") if isinstance(prompt, str) else prompt
