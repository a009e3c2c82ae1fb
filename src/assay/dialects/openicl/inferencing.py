"""The inferencers of configs: their arguments, checked and converted to sampling settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from assay.core.errors import AuthorError, Problem, Problems, listing, suggest_name
from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.request import Sampling
from assay.core.sampling_bounds import describe_expected_value
from assay.core.task import TaskSettings
from assay.dialects.openicl.arguments import ConfigArguments
from assay.dialects.openicl.authored.code import get_short_name
from assay.dialects.openicl.config.entry import Component, DatasetEntry

INFERENCE_CODE = "OPENICL-014"

InferenceForm: TypeAlias = Literal["answer", "chat", "options", "continuation", "choices", "text"]
"""`answer`: generates one text. `chat`: generates the replies of a conversation. `options`: chooses the label
with the most likely prompt. `continuation`: chooses the label after whose prompt a given text is the most
likely. `choices`: compares the next-token probabilities of options. `text`: scores a text."""
TurnMode: TypeAlias = Literal["every", "every_with_gt", "last"]
_METHODS: Mapping[InferenceForm, Method] = {
    "answer": Method.GEN,
    "chat": Method.GEN,
    "options": Method.PPL,
    "continuation": Method.PPL,
    "choices": Method.PROB,
    "text": Method.PPL,
}
INFERENCER_FORMS: Mapping[str, InferenceForm] = {
    "GenInferencer": "answer",
    "ParallelGenInferencer": "answer",
    "SCInferencer": "answer",
    "ChatInferencer": "chat",
    "ParallelChatInferencer": "chat",
    "MultiTurnGenInferencer": "chat",
    "PPLInferencer": "options",
    "LLInferencer": "continuation",
    "CLPInferencer": "choices",
    "PPLOnlyInferencer": "text",
}
UNSUPPORTED_INFERENCERS: Mapping[str, str] = {
    "AgentInferencer": "an agent that calls tools",
    "AttackInferencer": "adversarial changes of the prompt",
    "BFCLV3FunctionCallInferencer": "function calls",
    "GLMChoiceInferencer": "a method specific to one model family",
    "InferencePPLOnlyInferencer": "the likelihood of marked parts of a text",
    "LMMGenInferencer": "image generation",
    "MinKPercentInferencer": "the least likely tokens of a text",
    "SWCELossInferencer": "the likelihood of all rows joined into one text",
    "ToTInferencer": "tree-of-thought search",
}
"""Inferencers of the originals that Assay does not support, and their purpose."""
_MACHINE_ARGUMENTS = (
    *("batch_size", "max_seq_len", "save_every", "max_infer_workers", "output_json_filepath"),
    *("output_json_filename", "model", "model_cfg", "mode", "pressure_time", "min_out_len"),
)
"""Arguments that affect how the original runs, not what the model is asked."""
_GENERATION_ARGUMENTS = ("max_out_len", "stopping_criteria", "gen_field_replace_token", "generation_kwargs")
_SAMPLING_ARGUMENTS = ("temperature", "top_p", "do_sample")
_KNOWN_ARGUMENTS: Mapping[InferenceForm, Sequence[str]] = {
    "answer": (*_GENERATION_ARGUMENTS, *_SAMPLING_ARGUMENTS, "sc_size", "infer_type", "multiround", "labels"),
    "chat": (*_GENERATION_ARGUMENTS, *_SAMPLING_ARGUMENTS, "infer_mode"),
    "options": ("labels", "normalizing_str", "max_out_len"),
    "continuation": ("labels",),
    "choices": ("single_token",),
    "text": (),
}
TURN_MODES = ("every", "every_with_gt", "last")
_GENERATION_KWARGS = (
    "temperature",
    "top_p",
    "do_sample",
    "num_return_sequences",
    "max_out_len",
    "max_new_tokens",
)


class Inference(NamedTuple):
    """The inference settings of an entry."""

    name: str
    form: InferenceForm
    sampling: Sampling
    """The sampling settings; `n` is the number of answers per row."""
    turn_mode: TurnMode = "every"
    labels: tuple[Any, ...] = ()
    """The labels to compare, if the inferencer defines them."""
    replace_token: str = ""
    """The text that replaces the right answer in the prompt."""
    normalizing_str: str | None = None
    """The text after which an option's likelihood is subtracted, for normalisation."""
    is_voted: bool = False
    """Whether the majority of several answers counts."""
    notes: tuple[str, ...] = ()

    @property
    def method(self) -> Method:
        """Return the method."""
        return _METHODS[self.form]

    @property
    def n_compared(self) -> int:
        """Return the number of answers per row that are compared with the right one."""
        return self.sampling.n if self.method == Method.GEN and not self.is_voted else 1


def find_method(name: str) -> Method | None:
    """Return the method of an inferencer; None if it is not supported."""
    form = INFERENCER_FORMS.get(name)
    return None if form is None else _METHODS[form]


def read_inference(
    entry: DatasetEntry, settings: TaskSettings, where: Origin, arguments: ConfigArguments | None = None
) -> Inference:
    """Read the inferencer of an entry; raise all problems together.

    `asked`: settings from the model's own config.
    """
    component = entry.infer_cfg.inferencer
    name = get_short_name(component.type)
    form = INFERENCER_FORMS.get(name)
    if form is None:
        raise AuthorError(_describe_unknown(name, where))
    given, problems = component.arguments, Problems()
    for key in given:
        if key not in _KNOWN_ARGUMENTS[form] and key not in _MACHINE_ARGUMENTS:
            known = _KNOWN_ARGUMENTS[form]
            what = f"inferencer {name} has the unknown argument {key!r}{suggest_name(key, known)}"
            fix = f"supported: {listing(known)}" if known else "remove it"
            problems.add(Problem(INFERENCE_CODE, what, fix, where))
    reading = _ArgumentReader(component, problems, where)
    mode = reading.one_of("infer_mode", TURN_MODES, "last" if name != "MultiTurnGenInferencer" else "every")
    sampling, notes = _read_sampling(reading, entry, settings, arguments or ConfigArguments())
    problems.raise_if_any()
    return Inference(
        name,
        form,
        sampling,
        turn_mode=mode,
        labels=tuple(given.get("labels") or ()) if form != "answer" else (),
        replace_token=str(given.get("gen_field_replace_token", "")),
        normalizing_str=given.get("normalizing_str"),
        is_voted=name == "SCInferencer",
        notes=notes,
    )


def _describe_unknown(name: str, where: Origin) -> Problem:
    if name in UNSUPPORTED_INFERENCERS:
        what = f"the inferencer {name} ({UNSUPPORTED_INFERENCERS[name]}) is not supported"
        return Problem(INFERENCE_CODE, what, f"use one of {listing(INFERENCER_FORMS)}", where)
    what = f"there is no inferencer {name!r}{suggest_name(name, INFERENCER_FORMS)}"
    return Problem(INFERENCE_CODE, what, f"use one of {listing(INFERENCER_FORMS)}", where)


class _ArgumentReader:
    """Reads and checks the arguments of an inferencer."""

    def __init__(self, component: Component, problems: Problems, where: Origin) -> None:
        self._name = get_short_name(component.type)
        self._given = component.arguments
        self._problems = problems
        self._where = where
        inner = self._given.get("generation_kwargs") or {}
        if not isinstance(inner, Mapping):
            self._wrong("generation_kwargs", inner, "a dict")
            inner = {}
        self.generation: Mapping[str, Any] = inner

    def one_of(self, key: str, known: Sequence[str], usual: str) -> Any:
        value = self._given.get(key, usual)
        if value not in known:
            self._wrong(key, value, f"one of {listing(known)}")
            return usual
        return value

    def number(self, *keys: str, kind: type[Any] = int, least: float = 1) -> Any:
        """Return the first of these that is given; of a list with one value per turn, the largest."""
        for key in keys:
            value = self._given.get(key, self.generation.get(key))
            if value is None:
                continue
            value = max(value) if isinstance(value, list | tuple) and value else value
            is_right = isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
            expected = describe_expected_value(key, value)
            if not is_right or value < least or expected is not None:
                self._wrong(key, value, expected or f"a number of at least {least:g}")
                return None
            return value
        return None

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._given.get(key) or ()
        several = (value,) if isinstance(value, str) else value
        if not isinstance(several, list | tuple) or not all(isinstance(one, str) for one in several):
            self._wrong(key, value, "a list of texts")
            return ()
        return tuple(several)

    def flag(self, key: str) -> bool | None:
        value = self._given.get(key, self.generation.get(key))
        return None if value is None else bool(value)

    def _wrong(self, key: str, value: Any, expected: str) -> None:
        what = f"inferencer {self._name}: {key} is {value!r:.60}, expected {expected}"
        self._problems.add(Problem(INFERENCE_CODE, what, "correct the value", self._where))


def _read_sampling(
    reading: _ArgumentReader, entry: DatasetEntry, settings: TaskSettings, model: ConfigArguments
) -> tuple[Sampling, tuple[str, ...]]:
    """Return the sampling settings: command line first, then the dataset's config, then the model's."""
    usual = Sampling()
    notes = []
    written_temperature = reading.number("temperature", kind=float, least=0)
    if reading.flag("do_sample") is False:
        written_temperature = 0.0
    elif reading.flag("do_sample") and written_temperature is None:
        written_temperature = 1.0
    temperature = _pick_first_set(settings.temperature, written_temperature, usual.temperature)
    n = _pick_first_set(
        settings.samples, reading.number("sc_size"), reading.number("num_return_sequences"), entry.n
    )
    if n > 1 and not temperature:
        notes.append(f"{n} answers per row are requested at temperature 0: they will all be the same")
    without = [key for key in reading.generation if key not in _GENERATION_KWARGS]
    if without:
        notes.append(f"generation_kwargs: {listing(without)} has no effect")
    return (
        Sampling(
            max_tokens=_pick_first_set(
                settings.max_tokens,
                reading.number("max_out_len"),
                reading.number("max_new_tokens"),
                model.max_out_len,
                usual.max_tokens,
            ),
            temperature=float(temperature),
            top_p=float(
                _pick_first_set(settings.top_p, reading.number("top_p", kind=float, least=0), usual.top_p)
            ),
            stop=settings.stop if settings.stop is not None else _stops(reading, entry, settings, model),
            seed=settings.seed if temperature else None,
            n=n,
        ),
        tuple(notes),
    )


def _stops(
    reading: _ArgumentReader, entry: DatasetEntry, settings: TaskSettings, model: ConfigArguments
) -> tuple[str, ...]:
    of_dataset = reading.texts("stopping_criteria")
    if settings.is_faithful and entry.is_aisbench:
        of_dataset = ()  # AISBench reads them but does not pass them on.
    return tuple(dict.fromkeys((*of_dataset, *model.stop_words)))


def _pick_first_set(*values: Any) -> Any:
    return next(value for value in values if value is not None)
