"""The keys of a task: their defaults, their types, and errors for anything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import Problem, Problems, listing, suggest_name
from assay.core.origin import Origin
from assay.core.sampling_bounds import describe_expected_value
from assay.dialects.lm_eval.selection import SelectedTask, locate_task
from assay.dialects.lm_eval.task_files import FunctionReference

CODE = "LMEVAL-003"
MULTIPLE_CHOICE = "multiple_choice"
LOGLIKELIHOOD = "loglikelihood"
ROLLING = "loglikelihood_rolling"
GENERATE_UNTIL = "generate_until"
OUTPUT_TYPES = (MULTIPLE_CHOICE, LOGLIKELIHOOD, ROLLING, GENERATE_UNTIL)
DEFAULT_METRICS = {
    MULTIPLE_CHOICE: ("acc", "acc_norm"),
    LOGLIKELIHOOD: ("perplexity", "acc"),
    ROLLING: ("word_perplexity", "byte_perplexity", "bits_per_byte"),
    GENERATE_UNTIL: ("exact_match",),
}
"""The metrics of a task that names none, by its output type."""
DEFAULT_MAX_TOKENS = 256
LENGTH_KEYS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""The names of the maximum length in `generation_kwargs`; the first of them counts."""
_METRIC_KEYS = frozenset({"metric", "aggregation", "higher_is_better", "hf_evaluate"})


class MetricEntry(NamedTuple):
    """One metric of a task."""

    metric: Any
    """Its name, or the author's function."""
    aggregation: Any = None
    """Its name, or the author's function; None: the metric's usual one."""
    higher_is_better: bool | None = None
    arguments: Mapping[str, Any] = {}
    is_library: bool = False
    """Whether it is the metric of the `evaluate` library, even if lm-eval has one of the same name."""

    @property
    def name(self) -> str:
        """Return the name under which it is reported."""
        return self.metric if isinstance(self.metric, str) else str(self.metric.__name__)


class FilterStep(NamedTuple):
    """One step of a filter."""

    function: Any
    """Its name, or the author's class."""
    arguments: Mapping[str, Any]


class FilterEntry(NamedTuple):
    """A named filter: the steps between a reply and its score."""

    name: str
    steps: tuple[FilterStep, ...]


NO_FILTER = FilterEntry("none", (FilterStep("take_first", {}),))


class Fewshot(msgspec.Struct, frozen=True, kw_only=True):
    """Where examples come from and how they are written."""

    sampler: Any = "default"
    split: str | None = None
    samples: Any = None
    process_docs: Callable[[Any], Any] | None = None
    doc_to_text: Any = None
    doc_to_choice: Any = None
    doc_to_target: Any = None
    gen_prefix: str | None = None
    target_delimiter: str = " "
    fewshot_delimiter: str = "\n\n"


class Generation(msgspec.Struct, frozen=True):
    """How a reply is generated."""

    until: tuple[str, ...]
    max_tokens: int = DEFAULT_MAX_TOKENS
    temperature: float = 0.0
    top_p: float = 1.0
    ignored: tuple[str, ...] = ()
    """Options that Assay does not send to a model."""


class TaskKeys(msgspec.Struct, frozen=True, kw_only=True):
    """All keys of a task, with functions resolved."""

    name: str
    where: Origin
    alias: str
    version: str
    dataset_path: str | None
    dataset_name: str | None
    dataset_arguments: Mapping[str, Any]
    custom_dataset: Callable[..., Any] | None
    training_split: str | None
    validation_split: str | None
    test_split: str | None
    process_docs: Callable[[Any], Any] | None
    doc_to_text: Any
    doc_to_target: Any
    doc_to_choice: Any
    doc_to_image: Any
    doc_to_audio: Any
    process_results: Callable[[Any, Any], Any] | None
    description: str
    target_delimiter: str
    gen_prefix: str | None
    shots: int
    has_fixed_shots: bool
    """Whether the task file says 0 examples, which no flag overrides."""
    output_type: str
    metrics: tuple[MetricEntry, ...]
    filters: tuple[FilterEntry, ...]
    generation: Generation | None
    repeats: int
    fewshot: Fewshot
    is_unsafe: bool
    checks_contamination: bool
    metadata: Mapping[str, Any]

    @property
    def eval_split(self) -> str | None:
        """Return the split that is evaluated."""
        return self.test_split or self.validation_split


_ANY: tuple[type, ...] = (object,)
_TEXT: tuple[type, ...] = (str,)
_WHOLE: tuple[type, ...] = (int,)
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(
        ("task_alias", "dataset_path", "dataset_name", "training_split", "validation_split"), _TEXT
    ),
    **dict.fromkeys(("test_split", "fewshot_split", "target_delimiter", "fewshot_delimiter"), _TEXT),
    **dict.fromkeys(("task", "description", "gen_prefix", "output_type", "use_prompt"), _TEXT),
    **dict.fromkeys(("doc_to_text", "doc_to_target", "doc_to_choice", "doc_to_image", "doc_to_audio"), _ANY),
    **dict.fromkeys(("doc_to_decontamination_query", "metadata"), _ANY),
    **dict.fromkeys(("process_docs", "process_results", "custom_dataset"), _ANY),
    **dict.fromkeys(("num_fewshot", "repeats"), _WHOLE),
    **dict.fromkeys(("unsafe_code", "should_decontaminate"), (bool,)),
    **dict.fromkeys(("dataset_kwargs", "generation_kwargs", "fewshot_config"), (Mapping,)),
    **dict.fromkeys(("metric_list", "filter_list"), (list,)),
}
"""The keys of a task file, and the types of their values; a key may also be empty."""
KNOWN_KEYS = frozenset(_TYPES)
_FEWSHOT_KEYS = frozenset((*Fewshot.__struct_fields__, "fewshot_indices"))


def read_task_keys(task: SelectedTask, resolve: Callable[[FunctionReference], Any]) -> TaskKeys:
    """Return the keys of a task; raise AuthorError with everything that is wrong.

    `resolve` returns what a `!function` tag refers to.
    """
    return _KeyReader(task, resolve).read()


class _KeyReader:
    def __init__(self, task: SelectedTask, resolve: Callable[[FunctionReference], Any]) -> None:
        self._name = task.name
        self._where = locate_task(task)
        self._problems = Problems()
        self._check_names(task.config)
        self._keys: dict[str, Any] = {
            key: resolve_functions(value, resolve) for key, value in task.config.items() if value is not None
        }

    def read(self) -> TaskKeys:
        self._check_types()
        output_type = self._keys.get("output_type", GENERATE_UNTIL)
        if output_type not in OUTPUT_TYPES:
            near = suggest_name(str(output_type), OUTPUT_TYPES)
            self._add(f"output_type is {output_type!r}{near}", f"use one of {listing(OUTPUT_TYPES)}")
        if "use_prompt" in self._keys:
            self._add(
                "use_prompt names a prompt of promptsource, which is not supported", "write doc_to_text"
            )
        if "dataset_path" not in self._keys and "custom_dataset" not in self._keys:
            self._add("the task names no data", "add dataset_path")
        if "test_split" not in self._keys and "validation_split" not in self._keys:
            self._add("the task names no split to evaluate", "add test_split or validation_split")
        if output_type != ROLLING and "doc_to_text" not in self._keys:
            self._add("the task has no doc_to_text", "add it: a column, a template or a function")
        if "doc_to_target" not in self._keys:
            self._add("the task has no doc_to_target", "add it: a column, a template or a function")
        if output_type == MULTIPLE_CHOICE and "doc_to_choice" not in self._keys:
            self._add("output_type multiple_choice needs doc_to_choice", "add it, or change output_type")
        metrics, filters = self._read_metrics(output_type), self._read_filters()
        fewshot = self._read_fewshot()
        generation = self._read_generation(fewshot) if output_type == GENERATE_UNTIL else None
        self._problems.raise_if_any()
        keys = self._keys
        metadata = keys.get("metadata")
        metadata = metadata if isinstance(metadata, Mapping) else {}
        shots = keys.get("num_fewshot")
        return TaskKeys(
            name=self._name,
            where=self._where,
            alias=keys.get("task_alias", self._name),
            version=str(metadata.get("version", "")),
            dataset_path=keys.get("dataset_path"),
            dataset_name=keys.get("dataset_name"),
            dataset_arguments=keys.get("dataset_kwargs", {}),
            custom_dataset=keys.get("custom_dataset"),
            training_split=keys.get("training_split"),
            validation_split=keys.get("validation_split"),
            test_split=keys.get("test_split"),
            process_docs=keys.get("process_docs"),
            doc_to_text=keys.get("doc_to_text", ""),
            doc_to_target=keys["doc_to_target"],
            doc_to_choice=keys.get("doc_to_choice"),
            doc_to_image=keys.get("doc_to_image"),
            doc_to_audio=keys.get("doc_to_audio"),
            process_results=keys.get("process_results"),
            description=keys.get("description", ""),
            target_delimiter=keys.get("target_delimiter", " "),
            gen_prefix=keys.get("gen_prefix"),
            shots=shots or 0,
            has_fixed_shots=shots == 0,
            output_type=output_type,
            metrics=metrics,
            filters=filters,
            generation=generation,
            repeats=keys.get("repeats", 1),
            fewshot=fewshot,
            is_unsafe=bool(keys.get("unsafe_code")),
            checks_contamination=bool(keys.get("should_decontaminate")),
            metadata=metadata,
        )

    def _add(self, what: str, fix: str) -> None:
        self._problems.add(Problem(CODE, f"task {self._name!r}: {what}", fix, self._where))

    def _check_names(self, config: Mapping[str, Any]) -> None:
        for key in config:
            if key not in _TYPES:
                self._add(f"unknown key {key!r}{suggest_name(str(key), _TYPES)}", f"remove {key!r}")

    def _check_types(self) -> None:
        for key, value in self._keys.items():
            allowed = _TYPES.get(key, _ANY)
            is_number = isinstance(value, bool) and allowed is _WHOLE
            if not isinstance(value, allowed) or is_number:
                names = " or ".join("dict" if one is Mapping else one.__name__ for one in allowed)
                self._add(f"{key} is {value!r:.60}, expected {names}", f"correct {key}")
        for key in ("process_docs", "process_results", "custom_dataset"):
            if key in self._keys and not callable(self._keys[key]):
                self._add(f"{key} is {self._keys[key]!r:.60}, expected !function", f"write {key}: !function")
        if isinstance(self._keys.get("repeats"), int) and self._keys["repeats"] < 1:
            self._add(f"repeats is {self._keys['repeats']}, expected at least 1", "correct repeats")
        if isinstance(self._keys.get("num_fewshot"), int) and self._keys["num_fewshot"] < 0:
            self._add(f"num_fewshot is {self._keys['num_fewshot']}", "use 0 or more")

    def _read_metrics(self, output_type: str) -> tuple[MetricEntry, ...]:
        listed = self._keys.get("metric_list")
        if not isinstance(listed, list):
            return tuple(map(MetricEntry, DEFAULT_METRICS.get(output_type, ())))
        entries = []
        for one in listed:
            metric = one.get("metric") if isinstance(one, Mapping) else None
            if not isinstance(one, Mapping) or not (isinstance(metric, str) or callable(metric)):
                self._add(
                    f"metric_list contains {one!r:.60}, expected a dict with 'metric'", "name the metric"
                )
                continue
            arguments = {key: value for key, value in one.items() if key not in _METRIC_KEYS}
            better = one.get("higher_is_better")
            entries.append(
                MetricEntry(
                    metric,
                    one.get("aggregation"),
                    None if better is None else bool(better),
                    arguments,
                    one.get("hf_evaluate") is True,
                )
            )
        return tuple(entries)

    def _read_filters(self) -> tuple[FilterEntry, ...]:
        listed = self._keys.get("filter_list")
        if not isinstance(listed, list):
            return (NO_FILTER,)
        entries = []
        for one in listed:
            steps = one.get("filter") if isinstance(one, Mapping) else None
            if not isinstance(steps, list) or not isinstance(one.get("name"), str):
                expected = "expected a dict with 'name' and a list 'filter'"
                self._add(f"filter_list contains {one!r:.60}, {expected}", "correct filter_list")
                continue
            if not all(isinstance(step, Mapping) and step.get("function") for step in steps):
                self._add(f"a step of filter {one['name']!r} names no function", "add function: NAME")
                continue
            entries.append(
                FilterEntry(
                    one["name"],
                    tuple(
                        FilterStep(step["function"], {key: step[key] for key in step if key != "function"})
                        for step in steps
                    ),
                )
            )
        return tuple(entries)

    def _read_fewshot(self) -> Fewshot:
        own = self._keys.get("fewshot_config")
        own = own if isinstance(own, Mapping) else {}
        for key in own:
            if key not in _FEWSHOT_KEYS:
                near = suggest_name(str(key), _FEWSHOT_KEYS)
                self._add(f"fewshot_config has the unknown key {key!r}{near}", f"remove {key!r}")
        keys = self._keys
        inherited = {
            "split": keys.get("fewshot_split"),
            "process_docs": keys.get("process_docs"),
            "doc_to_text": keys.get("doc_to_text"),
            "doc_to_choice": keys.get("doc_to_choice"),
            "doc_to_target": keys.get("doc_to_target"),
            "gen_prefix": keys.get("gen_prefix"),
            "target_delimiter": keys.get("target_delimiter", " "),
            "fewshot_delimiter": keys.get("fewshot_delimiter", "\n\n"),
        }
        known = {key: value for key, value in own.items() if key in Fewshot.__struct_fields__}
        return Fewshot(**{**inherited, **known})

    def _read_generation(self, fewshot: Fewshot) -> Generation:
        given = self._keys.get("generation_kwargs")
        return read_generation(
            given if isinstance(given, Mapping) else {},
            default_until=self._keys.get("fewshot_delimiter", "\n\n"),
            add_problem=self._add,
        )


def read_generation(
    given: Mapping[str, Any], *, default_until: str, add_problem: Callable[[str, str], None]
) -> Generation:
    """Return the settings of `generation_kwargs`."""
    given = dict(given)
    until = given.pop("until", None)
    stops: Sequence[Any] = [default_until] if until is None else [until] if isinstance(until, str) else until
    if not isinstance(stops, list | tuple) or not all(isinstance(stop, str) for stop in stops):
        add_problem(f"generation_kwargs.until is {until!r:.60}, expected texts", "write a list of texts")
        stops = ()
    lengths = {key: given.pop(key) for key in LENGTH_KEYS if key in given}
    length_key = next(iter(lengths), "max_gen_toks")
    values = {length_key: lengths.get(length_key)}
    is_sampled = bool(given.pop("do_sample", True))
    for key in ("temperature", "top_p"):
        value = given.pop(key, None)
        if is_sampled:  # Without sampling, both have no effect.
            values[key] = value
    numbers: dict[str, float] = {length_key: DEFAULT_MAX_TOKENS, "temperature": 0.0, "top_p": 1.0}
    for key, value in values.items():
        if (expected := describe_expected_value(key, value)) is not None:
            add_problem(f"generation_kwargs.{key} is {value!r:.60}, expected {expected}", f"correct {key}")
        elif value is not None:
            numbers[key] = float(value)
    return Generation(
        tuple(stop for stop in stops if stop),
        int(numbers[length_key]),
        numbers["temperature"],
        numbers["top_p"],
        tuple(sorted(given)),
    )


def resolve_functions(value: Any, resolve: Callable[[FunctionReference], Any]) -> Any:
    """Return a value with every `!function` replaced by what it refers to."""
    if isinstance(value, FunctionReference):
        return resolve(value)
    if isinstance(value, Mapping):
        return {key: resolve_functions(one, resolve) for key, one in value.items()}
    if isinstance(value, list):
        return [resolve_functions(one, resolve) for one in value]
    return value
