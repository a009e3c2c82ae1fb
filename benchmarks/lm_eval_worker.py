"""lm-eval's own tasks over given or made rows: requests, and scores from seeded replies.

Runs in the original's environment, started by `conformance_lm_eval.py`:

    python lm_eval_worker.py JOBS.json ANSWERS.jsonl

JOBS.json: {"tasks": [{"name", "path", "shots"?, "rows"?, "limit"?, "max_tokens"?}], "groups"?, "model"?}.
For each task one line is written: the rows, the requests in order with a reply to each, and the values of
every document and metric.
"""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import socket
import sys
import time
import traceback
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_DATASETS_OFFLINE", "1")
os.environ.setdefault("TQDM_DISABLE", "1")
os.environ["DISABLE_MULTIPROC"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
sys.path.insert(0, str(Path(__file__).resolve().parent))
logging.disable(logging.CRITICAL)


def _refuse(*_: Any, **__: Any) -> Any:
    raise OSError("the worker has no network")


socket.getaddrinfo = _refuse
socket.socket.connect = _refuse  # type: ignore[method-assign]
time.sleep = lambda _: None
warnings.filterwarnings("ignore")

import datasets  # noqa: E402
import evaluate  # noqa: E402
import lm_eval_rows  # type: ignore[import-not-found]  # noqa: E402
import numpy as np  # noqa: E402
from lm_eval.api.task import Task  # noqa: E402
from lm_eval.evaluator_utils import _collect_groups_bottom_up, _compute_task_aggregations  # noqa: E402
from lm_eval.models.utils import normalize_gen_kwargs  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402
from lm_eval.tasks._factory import TaskFactory  # noqa: E402
from lm_eval.tasks._index import Entry, Kind  # noqa: E402


class _Metric:
    """A metric of the `evaluate` library, whose script only the hub has: tasks load, and are not scored."""

    def compute(self, **given: Any) -> Any:
        if given.get("references") == ["assert add(2, 3)==5"]:
            return {"pass@1": 0.0}, {}
        raise OSError("the metric is on the hub")


evaluate.load = lambda *_, **__: _Metric()
datasets.disable_caching()
datasets.disable_progress_bars()

N_EVALUATED, N_EXAMPLES = 6, 12
BOOTSTRAPS = 1000
SHOTS_SEED = 1234
SECONDS = 90
"""The most that one task may take."""


class _Overdue(BaseException):
    """A task took too long."""


def _interrupt(*_: Any) -> None:
    raise _Overdue


class Worker:
    """Builds one task after the other."""

    def __init__(self, model: str | None) -> None:
        self._model = None if model is None else _open_model(model)
        self._factory = TaskFactory()
        self._made = lm_eval_rows.MadeRows()
        self._rows: lm_eval_rows.Rows = {}
        self._replies: list[Any] = []
        self.metrics: dict[str, dict[str, Any]] = {}
        datasets.load_dataset = self._load

    def _load(self, *_: Any, **__: Any) -> Any:
        return datasets.DatasetDict(
            {split: datasets.Dataset.from_list(rows) for split, rows in self._rows.items()}
        )

    def run(self, job: dict[str, Any]) -> dict[str, Any]:
        """Return what the original makes of one task."""
        name = job["name"]
        entry = Entry(name, Kind.TASK, Path(job["path"]))
        try:
            config = self._factory._load_full_config(entry, None)
        except BaseException as error:  # noqa: BLE001 (authors' code may raise or exit)
            return {"name": name, "unbuilt": _shorten(error)}

        def trial(rows: lm_eval_rows.Rows) -> tuple[Any, BaseException | None]:
            self._rows = rows
            seed_everything()
            task = self._build(entry, job.get("shots"))
            if job.get("max_tokens") and task.config.generation_kwargs is not None:
                task.config.generation_kwargs["max_gen_toks"] = job["max_tokens"]
            task.build_all_requests(limit=job.get("limit"))
            _check_choices(task)
            asked = {"shots": task.config.num_fewshot or 0, "requests": _list_requests(task)}
            json.dumps(asked)
            try:
                return asked | self._score(name, task), None
            except Exception as error:  # noqa: BLE001 (authors' code may raise anything)
                return asked | {"unscored": _shorten(error), "replies": self._replies}, error

        try:
            if job.get("rows"):
                rows = job["rows"]
                asked, _ = trial(rows)
            else:
                splits = _list_splits(config, job.get("shots"))
                family = _describe_family(entry, config)
                rows, asked = self._made.find(
                    family, splits, _list_columns(config), _list_constants(config), trial, name
                )
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | _Overdue):
                raise
            return {"name": name, "unmade": _shorten(error)}
        return {"name": name, "rows": rows, "limit": job.get("limit"), **asked}

    def _build(self, entry: Any, shots: int | None) -> Any:
        task = self._factory._build_task(entry, None)
        if shots is not None and task.config.num_fewshot != 0:
            task.set_config("num_fewshot", shots)
        task.set_fewshot_seed(SHOTS_SEED)
        return task

    def _score(self, name: str, task: Any) -> dict[str, Any]:
        if self._model is None:
            for number, instance in enumerate(task.instances):
                instance.resps = make_replies(name, number, instance, task)
        else:
            kind = task.instances[0].request_type
            for instance, reply in zip(
                task.instances, getattr(self._model, kind)(task.instances), strict=True
            ):
                instance.resps = [reply]
        replies = [instance.resps for instance in task.instances]
        self._replies = plain(replies)
        task.apply_filters()
        by_doc: dict[int, list[Any]] = defaultdict(list)
        for instance in task.instances:
            by_doc[instance.doc_id].append(instance)
        for instances in by_doc.values():
            instances.sort(key=lambda one: one.idx)
        raw: dict[tuple[str, str], list[Any]] = defaultdict(list)
        docs: dict[str, list[dict[str, Any]]] = {}
        for chosen in task.instances[0].filtered_resps:
            values = []
            for doc_id, instances in by_doc.items():
                scored = task.process_results(
                    instances[0].doc, [one.filtered_resps[chosen] for one in instances]
                )
                values.append({key: plain(value) for key, value in scored.items()})
                for metric, value in scored.items():
                    raw[(metric, chosen)].append(value)
                del doc_id
            docs[chosen] = values
        aggregated, n = _compute_task_aggregations(task, raw, BOOTSTRAPS)
        self.metrics[name] = {**aggregated, "sample_len": n}
        return {
            "replies": plain(replies),
            "values": docs,
            "aggregated": {key: plain(value) for key, value in aggregated.items()},
            "better": {key: value for key, value in task.higher_is_better().items() if isinstance(key, str)},
        }

    def groups(self) -> list[dict[str, Any]]:
        """Return the scores of every group whose tasks were all scored."""
        index = TaskManager().task_index
        self._factory._build_task = lambda entry, _: _Stub(entry.name)
        found = []
        for entry in list(index.values()):
            if entry.kind is not Kind.GROUP:
                continue
            try:
                group = self._factory.build(entry, registry=index)
            except BaseException as error:  # noqa: BLE001 (authors' code may raise or exit)
                found.append({"name": entry.name, "unbuilt": _shorten(error)})
                continue
            names = [task.task_name for task in group.get_all_tasks()]
            if not names or not set(names) <= set(self.metrics) or not group.has_aggregation:
                continue
            try:
                for one in _collect_groups_bottom_up({group.name: group}):
                    scores = one.aggregate(self.metrics)
                found.append({"name": entry.name, "tasks": names, "scores": plain(dict(scores))})
            except BaseException as error:  # noqa: BLE001 (authors' code may raise or exit)
                found.append({"name": entry.name, "unbuilt": _shorten(error)})
        return found


class _Stub(Task):  # type: ignore[misc]
    """A task of which only the name counts."""

    def __init__(self, name: str) -> None:
        self._config = {"task": name}
        self._name = name

    @property
    def task_name(self) -> str:
        return self._name

    def _nothing(self, *_: Any, **__: Any) -> Any:
        return None


_Stub.__abstractmethods__ = frozenset()


def _open_model(folder: str) -> Any:
    """Return the original's model over a folder of weights, in fp32."""
    from lm_eval.models.huggingface import HFLM

    return HFLM(pretrained=folder, dtype="float32", device="cpu", batch_size=8)


def _check_choices(task: Any) -> None:
    """Raise for options that are no list: the original takes the letters of a text, or the keys of a dict."""
    if task.OUTPUT_TYPE == "multiple_choice" and task.config.doc_to_choice is not None:
        choices = task.doc_to_choice(task.instances[0].doc)
        if not isinstance(choices, list):
            raise TypeError(f"doc_to_choice gives {type(choices).__name__}")


def seed_everything() -> None:
    """Seed as the program does before it builds tasks."""
    random.seed(0)  # noqa: TID251 (as the program does)
    np.random.seed(1234)


def make_replies(name: str, number: int, instance: Any, task: Any) -> list[Any]:
    """Return seeded replies to a request, one for each repeat."""
    return [
        _make_reply(random.Random(f"{name}:{number}:{repeat}"), instance, task)
        for repeat in range(max(1, instance.repeats or 1))
    ]


def _make_reply(rng: random.Random, instance: Any, task: Any) -> Any:
    if instance.request_type == "loglikelihood":
        return (-rng.randrange(1, 4000) / 64, rng.random() < 0.4)
    if instance.request_type == "loglikelihood_rolling":
        return -rng.randrange(1, 40000) / 64
    try:
        gold = task.doc_to_target(instance.doc)
    except Exception:  # noqa: BLE001 (authors' code may raise anything)
        gold = ""
    gold = gold[0] if isinstance(gold, list) and gold else gold
    letter = rng.choice("ABCD")
    return rng.choice(
        (
            str(gold),
            str(gold),
            f" {gold}.",
            f"The answer is {gold}",
            f"So the answer is ({letter}).",
            letter,
            f"#### {rng.randrange(3)}",
            f"\\boxed{{{gold}}}",
            "yes",
            "",
            f"Answer: {letter}\nBecause 12 + 3 = {rng.randrange(20)}.",
        )
    )


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | map):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return [plain(one) for one in value.tolist()]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return f"<{type(value).__name__}>"


def _list_splits(config: dict[str, Any], shots: int | None) -> dict[str, int]:
    """Return the splits that a task reads, and how many rows each gets."""
    needed = max(N_EXAMPLES, (config.get("num_fewshot") or 0) + 3, (shots or 0) + 3)
    fewshot = config.get("fewshot_config") or {}
    names = [config.get(key) for key in ("training_split", "validation_split", "fewshot_split")]
    names += [
        fewshot.get("split") if isinstance(fewshot, dict) else None,
        "train",
        "validation",
        "test",
        "dev",
    ]
    splits = {name: needed for name in names if isinstance(name, str)}
    evaluated = config.get("test_split") or config.get("validation_split")
    if isinstance(evaluated, str) and evaluated not in (
        config.get("fewshot_split"),
        config.get("training_split"),
    ):
        draws = not config.get("training_split") and not config.get("fewshot_split")
        splits[evaluated] = needed if draws else N_EVALUATED
    return splits


def _list_columns(config: dict[str, Any]) -> list[str]:
    """Return the columns that a task names without a template."""
    keys = ("doc_to_text", "doc_to_target", "doc_to_choice")
    return [name for key in keys if isinstance(name := config.get(key), str) and name.isidentifier()]


def _describe_family(entry: Any, config: dict[str, Any]) -> Any:
    keys = ("process_docs", "doc_to_text", "doc_to_target", "doc_to_choice", "process_results", "class")
    shown = tuple(_describe_key(config.get(key)) for key in keys)
    return (
        str(Path(entry.yaml_path).parent),
        *(shown[:1] if callable(config.get("process_docs")) else shown),
    )


def _describe_key(value: Any) -> str:
    if not callable(value):
        return str(value)
    function = getattr(value, "func", value)
    name = getattr(function, "__qualname__", "")
    return f"{function.__module__}.{name} {_list_partial(value) if function is not value else ''}"


def _list_partial(value: Any) -> list[str]:
    given = [*getattr(value, "args", ()), *(getattr(value, "keywords", None) or {}).values()]
    return [text for text in given if isinstance(text, str)]


def _list_constants(config: dict[str, Any]) -> list[str]:
    """Return the texts that a task's functions were made with."""
    return [text for key in ("process_docs", "doc_to_text") for text in _list_partial(config.get(key))]


def _list_requests(task: Any) -> list[dict[str, Any]]:
    listed = []
    for instance in task.instances:
        arguments = list(instance.args)
        request = {
            "type": instance.request_type,
            "doc": instance.doc_id,
            "idx": instance.idx,
            "repeats": instance.repeats,
        }
        if instance.request_type == "generate_until":
            request |= {
                "context": arguments[0],
                "generation": plain(dict(normalize_gen_kwargs(arguments[1]))),
            }
        elif instance.request_type == "loglikelihood":
            request |= {"context": arguments[0], "continuation": arguments[1]}
        else:
            request |= {"context": arguments[0]}
        listed.append(request)
    return listed


def _shorten(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    where = f" at {Path(last.filename).name}:{last.lineno}" if last else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}{where}"


def main() -> None:
    """Run the jobs of a file."""
    jobs = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    real_stdout, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115
    worker = Worker(jobs.get("model"))
    seconds = SECONDS if jobs.get("model") is None else 0
    signal.signal(signal.SIGALRM, _interrupt)
    with Path(sys.argv[2]).open("w", encoding="utf-8") as out:
        for job in jobs["tasks"]:
            signal.alarm(seconds)
            try:
                answer = worker.run(job)
            except _Overdue:
                answer = {"name": job["name"], "unmade": f"it took more than {SECONDS} s"}
            signal.alarm(0)
            out.write(json.dumps(answer) + "\n")
            out.flush()
        if jobs.get("groups"):
            for group in worker.groups():
                out.write(json.dumps({"group": group}) + "\n")
    sys.stdout = real_stdout


if __name__ == "__main__":
    main()
