"""The arguments of task files, given as `--dataset-arg NAME=VALUE` under the names of lm-eval's flags."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from assay.core.errors import Problem, UsageError, explain_type_error, listing, suggest_name
from assay.dialects.lm_eval.config import GENERATE_UNTIL, LENGTH_KEYS
from assay.dialects.lm_eval.selection import SelectedTask
from assay.dialects.lm_eval.task_files import TaskConfig

CODE = "USAGE-007"
_JSON = frozenset({"gen_kwargs", "samples", "metadata"})


class TaskArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The values of the arguments."""

    include_path: str | None = None
    """Folders of task files, separated by commas."""
    apply_chat_template: bool | None = None
    """Whether prompts are conversations. None: as the run decides, and plain text in a faithful run."""
    fewshot_as_multiturn: bool = True
    """Whether each example is a question and an answer of the conversation, or part of one message."""
    system_instruction: str | None = None
    """The text before the task's description."""
    gen_kwargs: dict[str, Any] = {}
    """Replaces parts of generation_kwargs; a JSON object."""
    max_gen_toks: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The length of replies for tasks that do not set one."""
    think_end_token: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    """The text after which an answer begins; what the model writes before it is not scored."""
    samples: dict[str, list[Annotated[int, msgspec.Meta(ge=0)]]] = {}
    """The documents to evaluate, by task, counted from 0; a JSON object."""
    limit_share: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    """The share of each task's documents to evaluate: the first ones."""
    metadata: dict[str, Any] = {}
    """Added to `metadata`, which functions that load data receive; a JSON object."""

    def choose_documents(self, task: str, n_documents: int) -> frozenset[int] | None:
        """Return the numbers of the documents to evaluate, from 0; None if the arguments do not say so."""
        if task in self.samples:
            chosen = frozenset(self.samples[task])
            if (last := max(chosen, default=0)) >= n_documents:
                what = f"samples names document {last} of task {task!r}, which has {n_documents:,} documents"
                raise UsageError(Problem(CODE, what, f"use numbers from 0 to {n_documents - 1}"))
            return chosen
        if self.limit_share is not None:
            return frozenset(range(math.ceil(n_documents * self.limit_share)))
        return None

    def override_keys(self, task: SelectedTask) -> SelectedTask:
        """Return a task with the keys that the arguments replace."""
        config: TaskConfig = dict(task.config)
        if config.get("output_type", GENERATE_UNTIL) == GENERATE_UNTIL:
            config |= self._override_generation(config)
        if self.metadata:
            own = config.get("metadata")
            config["metadata"] = {**(own if isinstance(own, Mapping) else {}), **self.metadata}
        return task._replace(config=config)

    def _override_generation(self, config: TaskConfig) -> TaskConfig:
        """Return `generation_kwargs` if the arguments change it; a task without it has its own length."""
        own = config.get("generation_kwargs")
        given = _default_generation(config) if own is None else own
        if not isinstance(given, Mapping):
            return {}  # Reading the keys reports it.
        changed = {**given, **self.gen_kwargs}
        if self.max_gen_toks is not None and not any(key in changed for key in LENGTH_KEYS):
            changed["max_gen_toks"] = self.max_gen_toks
        return {} if changed == given else {"generation_kwargs": changed}


def _default_generation(config: TaskConfig) -> dict[str, Any]:
    """Return the original's generation_kwargs of a task that has none."""
    until = config.get("fewshot_delimiter", "\n\n")
    return {"temperature": 0.0, "do_sample": False, "max_gen_toks": 256, "until": [until]}


def read_task_arguments(given: Mapping[str, str]) -> TaskArguments:
    """Parse `--dataset-arg` pairs; raise UsageError for unknown and invalid ones."""
    known: Sequence[str] = TaskArguments.__struct_fields__
    for name in given:
        if name not in known:
            what = f"task files have no argument {name!r}{suggest_name(name, known)}"
            raise UsageError(Problem(CODE, what, f"use one of {listing(known)}"))
    values = {name: _parse_json(name, text) if name in _JSON else text for name, text in given.items()}
    try:
        return msgspec.convert(values, TaskArguments, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(
            Problem(CODE, f"--dataset-arg of a task file: {explain_type_error(error)}", "correct the value")
        ) from error


def _parse_json(name: str, text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        what = f"--dataset-arg {name}: {text!r:.60} is not JSON: {error}"
        raise UsageError(Problem(CODE, what, f"""write --dataset-arg {name}='{{"key": 1}}'""")) from error
