"""lm-eval itself beside Assay: the same requests and the same scores for its task files.

    python -m benchmarks.conformance_lm_eval --python PYTHON            # prints the table
    python -m benchmarks.conformance_lm_eval --every 10                 # every tenth task
    python -m benchmarks.conformance_lm_eval --tasks hellaswag,gsm8k    # these, with each difference
    python -m benchmarks.conformance_lm_eval --write                    # puts it into RESULTS.md
    python -m benchmarks.conformance_lm_eval --groups mmlu,bbh --write  # scores of groups, in their own table

The original runs in an environment of its own (`lm_eval_worker.py`): its own Task objects, over rows made
for each task. Assay compiles the same task files over the same rows with `--fidelity faithful`. Compared are
the contexts, continuations and generation arguments of every request, byte for byte, and, from the same
seeded replies, the values of every document and metric, their aggregates and standard errors.

With `--groups`, the tasks of these groups are compared, each with another number of documents, and then every
group of the package whose tasks are all among them: its values, its standard errors, and its number of
documents, as `assay as lm_eval` writes them into its results and as `assay run` shows them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.app.lm_eval_tasks import build_lm_eval_tools
from assay.core.errors import AssayError
from assay.core.limit import Limit
from assay.core.media import Text
from assay.core.prompt import Prompt
from assay.core.request import Generate, Request, Span
from assay.core.response import Completion, Finish, Likelihood, Output, Response
from assay.core.score import Metric
from assay.core.task import AnsweredRequest, TaskSettings, TaskSpec
from assay.dialects.lm_eval.compile import LmEvalTools, build_summary_groups, compile_task_files
from assay.dialects.lm_eval.documents import DatasetLoader
from assay.dialects.lm_eval.selection import Selection, select_tasks
from assay.dialects.lm_eval.task_index import EntryKind
from assay.results.exchange.lm_eval_files import NO_STDERR, LoggedTask, name_stderr
from assay.results.rows import markdown_table
from assay.scoring.originals.lm_eval.metrics import AGGREGATIONS
from assay.scoring.originals.lm_eval.standard_errors import estimate_stderr
from assay.scoring.statistics import standard_error
from assay.scoring.summary_groups import build_group_metrics
from assay.systems.lm_eval.logged_run import build_group
from benchmarks.peers import peer_python
from benchmarks.record import add_output_options, hand_over, setting

Answer = dict[str, Any]
"""What the worker wrote about one task."""
WORKER = Path(__file__).with_name("lm_eval_worker.py")
_TOLERANCE = 1e-9
_LEAST_DOCUMENTS = 2
_BOOTSTRAPS = 1000
"""Resamples of a standard error, as in the worker."""
_REASON_CHARS = 240


class Compared(NamedTuple):
    """One task: what differs."""

    name: str
    requests: str = ""
    """The first difference between the requests; empty if there is none."""
    scores: str = ""
    n_requests: int = 0
    is_scored: bool = False


class ComparedGroup(NamedTuple):
    """One group: what differs."""

    name: str
    n_tasks: int
    n_scores: int
    difference: str
    """The first difference; empty if there is none."""


def main() -> None:
    """Compare, and hand the table over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", help="a python that has lm-eval [one is made]")
    parser.add_argument("--every", type=int, default=1, help="compare every Nth task [1]")
    parser.add_argument("--tasks", help="only these tasks, separated by commas")
    parser.add_argument("--groups", help="compare the scores of these groups, separated by commas")
    parser.add_argument("--workers", type=int, default=2, help="processes of the original [2]")
    parser.add_argument(
        "--answers", type=Path, nargs="*", help="what workers wrote before, instead of running them"
    )
    add_output_options(parser)
    options = parser.parse_args()
    python = peer_python("lm-eval", options.python)
    folder = find_package_tasks(python)
    # Authors' code imports packages that Assay does not need: sklearn, evaluate and others.
    sys.path.append(str(folder.parents[1]))
    tools = build_lm_eval_tools("lm_eval:", [folder], None)
    if options.answers:
        answers = read_answers(options.answers)
    elif options.groups:
        jobs = list_group_jobs(tools, options.groups.split(","))
        answers = run_workers(python, jobs, 1, has_groups=True)
    else:
        answers = run_workers(python, list_jobs(tools, options.every, options.tasks), options.workers)
    result = Comparison(tools)
    for answer in answers:
        result.add(answer)
        if options.tasks or options.groups:
            for line in result.describe_last():
                print(line, file=sys.stderr, flush=True)
    if options.groups:
        hand_over("conformance_lm_eval_groups", result.group_section(), options)
    else:
        hand_over("conformance_lm_eval", result.section(), options)


def find_package_tasks(python: Path) -> Path:
    """Return the folder of task files in the original's environment."""
    code = "import importlib.util as u; print(u.find_spec('lm_eval').submodule_search_locations[0])"
    found = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True)
    return Path(found.stdout.strip()) / "tasks"


def list_jobs(tools: LmEvalTools, every: int, names: str | None) -> list[dict[str, Any]]:
    """Return the tasks to compare; every second one with two examples, if its file does not say how many."""
    tasks = [entry for entry in tools.tasks if entry.kind in (EntryKind.TASK, EntryKind.CLASS)]
    wanted = set(names.split(",")) if names else {entry.name for entry in tasks[::every]}
    chosen = [entry for entry in tasks if entry.name in wanted]
    return [
        {"name": entry.name, "path": entry.path}
        | ({"shots": 2} if number % 2 and entry.shots is None else {})
        for number, entry in enumerate(chosen)
    ]


_IFEVAL = {
    "key": 1,
    "prompt": "Write about rain without commas.",
    "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
    "kwargs": [
        {"num_words": None, "relation": None},
        {"num_words": 4, "relation": "at least"},
    ],
}
_OWN_ROWS = {"leaderboard_ifeval": {"train": [{**_IFEVAL, "key": number} for number in range(6)]}}
"""Rows of tasks for which the worker finds none."""


def list_group_jobs(tools: LmEvalTools, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the tasks of groups, with different numbers of documents, so that sizes matter."""
    selection = select_tasks(names, tools.tasks)
    return [
        {"name": task.name, "path": str(task.path), "limit": _LEAST_DOCUMENTS + number % 4}
        | ({"rows": _OWN_ROWS[task.name]} if task.name in _OWN_ROWS else {})
        for number, task in enumerate(selection.tasks)
        if task.path is not None
    ]


def run_workers(
    python: Path, jobs: Sequence[dict[str, Any]], n: int, *, has_groups: bool = False
) -> Iterator[Answer]:
    """Yield what the original makes of the tasks."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        processes = []
        for number in range(n):
            todo, done = folder / f"{number}.json", folder / f"{number}.jsonl"
            todo.write_text(json.dumps({"tasks": jobs[number::n], "groups": has_groups}), encoding="utf-8")
            command = [str(python), str(WORKER), str(todo), str(done)]
            processes.append((subprocess.Popen(command, stderr=subprocess.DEVNULL), done))
        for process, done in processes:
            if process.wait():
                print(f"a worker ended with {process.returncode}", file=sys.stderr)
            yield from read_answers([done])


def read_answers(files: Sequence[Path]) -> Iterator[Answer]:
    """Yield the lines of files that workers wrote."""
    for file in files:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                if not line.endswith("\n"):
                    continue  # The worker is writing it.
                yield json.loads(line)


@contextmanager
def serve_rows(rows: Mapping[str, Any]) -> Iterator[None]:
    """Give every task these rows, by split, instead of the data that its file names."""
    import datasets

    def load(*_: Any) -> Any:
        return datasets.DatasetDict({split: datasets.Dataset.from_list(some) for split, some in rows.items()})

    known = DatasetLoader.load
    DatasetLoader.load = load  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        DatasetLoader.load = known  # type: ignore[method-assign]


class Comparison:
    """Compares one task after the other, and counts."""

    def __init__(self, tools: LmEvalTools) -> None:
        self._tools = tools
        self._seen: set[str] = set()
        self._compared: list[Compared] = []
        self._groups: list[ComparedGroup] = []
        self._logged: dict[str, LoggedTask] = {}
        self._specs: dict[str, TaskSpec] = {}
        self._without: Counter[str] = Counter()

    def add(self, answer: Answer) -> None:
        """Compare one task or group; a second answer about it is ignored."""
        if "group" in answer:
            if "scores" in answer["group"]:
                self._groups.append(self._compare_group(answer["group"]))
            return
        if answer["name"] in self._seen:
            return
        self._seen.add(answer["name"])
        why = next((key for key in ("unbuilt", "unmade") if key in answer), None)
        if why is not None:
            self._without[why] += 1
            return
        self._compared.append(self._compare(answer))

    def describe_last(self) -> list[str]:
        """Return the differences of the latest task or group."""
        if self._groups:
            group = self._groups[-1]
            return [f"{group.name}: {group.difference}"] if group.difference else []
        if not self._compared:
            return []
        last = self._compared[-1]
        return [f"{last.name}: {text}" for text in (last.requests, last.scores) if text]

    @property
    def differing(self) -> list[Compared]:
        """Return the tasks that differ."""
        return [one for one in self._compared if one.requests or one.scores]

    def _compare(self, answer: Answer) -> Compared:
        name = str(answer["name"])
        limit = None if answer.get("limit") is None else Limit(answer["limit"], "first")
        settings = TaskSettings(is_faithful=True, shots=answer["shots"], limit=limit)
        try:
            with serve_rows(answer["rows"]):
                task = compile_task_files([name], settings, self._tools)[0].task
            self._specs[name] = task.spec
            samples = list(task.samples())
            requests = [list(task.requests(sample)) for sample in samples]
        except AssayError as error:
            return Compared(name, f"does not compile: {shorten_reason(error.problems[0].what)}")
        theirs = answer["requests"]
        by_doc: dict[int, list[dict[str, Any]]] = {}
        for number, one in enumerate(theirs):
            by_doc.setdefault(one["doc"], []).append({**one, "number": number})
        if len(by_doc) != len(samples):
            return Compared(name, f"{len(by_doc)} documents, here {len(samples)}")
        for doc, ours in enumerate(requests):
            difference = compare_requests(by_doc[doc], ours)
            if difference:
                return Compared(name, f"document {doc}: {difference}", n_requests=len(theirs))
        if "unscored" in answer:
            return Compared(name, n_requests=len(theirs))
        try:
            scores = self._compare_scores(answer, task, samples, requests, by_doc)
        except Exception as error:  # noqa: BLE001 (authors' code may raise anything)
            scores = f"scoring raised {type(error).__name__}: {error}"
        return Compared(name, "", scores, len(theirs), is_scored=True)

    def _compare_scores(
        self,
        answer: Answer,
        task: Any,
        samples: Sequence[Any],
        requests: Sequence[Sequence[Request]],
        by_doc: Mapping[int, Sequence[dict[str, Any]]],
    ) -> str:
        author = task.scorers()[0].args["author"]
        filters = list(answer["values"])
        rows = []
        for doc, sample in enumerate(samples):
            replies = [answer["replies"][one["number"]] for one in by_doc[doc]]
            values = author.values(sample, answer_requests(requests[doc], replies))
            if not isinstance(values, Mapping):
                return f"document {doc}: {values.message}"
            rows.append(values)
            for chosen in filters:
                for metric, theirs in answer["values"][chosen][doc].items():
                    name = metric if len(filters) == 1 else f"{metric},{chosen}"
                    ours = values.get(name, "<none>")
                    if not is_same(theirs, ours):
                        return f"document {doc}, {name}: {theirs!r:.300}, here {ours!r:.300}"
        functions = author.aggregation()
        aggregated: dict[str, Any] = {}
        stderrs: dict[str, float | str] = {}
        self._logged[task.spec.name] = LoggedTask(
            task.spec.name, "", None, {}, 0, len(rows), len(rows), aggregated, stderrs, {}
        )
        for key, theirs in answer["aggregated"].items():
            metric, chosen = key.rsplit(",", 1)
            if metric.endswith("_stderr"):
                continue
            name = metric if len(filters) == 1 else key
            values = [row[name] for row in rows if name in row]
            aggregated[key] = ours = functions[name](values)
            estimated = estimate_stderr(metric, functions[name], values, _BOOTSTRAPS)
            stderrs[key] = NO_STDERR if estimated is None else estimated
            if not is_same(theirs, ours):
                return f"{name}: {theirs!r:.100}, here {ours!r:.100}"
            expected = answer["aggregated"].get(f"{metric}_stderr,{chosen}", "N/A")
            if functions[name] is AGGREGATIONS["mean"] and expected != "N/A":
                squares = math.fsum(float(value) ** 2 for value in values)
                error = standard_error(len(values), math.fsum(map(float, values)), squares)
                if not is_same(expected, error):
                    return f"standard error of {name}: {expected!r}, here {error!r}"
        return ""

    def _compare_group(self, group: Mapping[str, Any]) -> ComparedGroup:
        name, theirs = str(group["name"]), group["scores"]
        n_tasks = len(group["tasks"])
        try:
            selection = select_tasks([name], self._tools.tasks)
        except AssayError as error:
            return ComparedGroup(name, n_tasks, 0, f"does not load: {shorten_reason(error.problems[0].what)}")
        lacking = [task.name for task in selection.tasks if task.name not in self._logged]
        if lacking:
            return ComparedGroup(name, n_tasks, 0, f"a task differs: {lacking[0]}")
        selected = next(one for one in selection.groups if one.name == name)
        ours = build_group(selected, self._logged)
        expected = {key: value for key, value in theirs.items() if "," in key}
        written = dict(ours.values) | {name_stderr(key): value for key, value in ours.stderrs.items()}
        pairs = [(key, value, written.get(key, "<none>")) for key, value in expected.items()]
        pairs += [(key, "<nothing>", value) for key, value in written.items() if key not in expected]
        pairs += [("sample_len", theirs["sample_len"], ours.n_evaluated)]
        pairs += [("sample_count", theirs.get("sample_count", {}), dict(ours.counts))]
        pairs += list(self._pair_shown_scores(selection, name, expected))
        for key, value, own in pairs:
            if value == "<nothing>" or not is_same(value, own):
                return ComparedGroup(name, n_tasks, 0, f"{key}: {value!r:.60}, here {own!r:.60}")
        return ComparedGroup(name, n_tasks, sum("_stderr," not in key for key in expected), "")

    def _pair_shown_scores(
        self, selection: Selection, name: str, expected: Mapping[str, Any]
    ) -> Iterator[tuple[str, Any, Any]]:
        """Yield each score of a group as `assay run` shows it, with the original's value."""
        specs = [self._specs[task.name] for task in selection.tasks]
        metrics = [
            make_metric(task, key, value, self._specs[task.name])
            for task in (self._logged[task.name] for task in selection.tasks)
            for key, value in task.values.items()
        ]
        groups = [one for one in build_summary_groups(selection, specs) if one.name == name]
        for metric in build_group_metrics(metrics, groups).metrics:
            keys = [key for key in expected if key == metric.metric or key.startswith(f"{metric.metric},")]
            yield f"{metric.metric} as shown", expected[keys[0]] if keys else None, metric.value

    def group_section(self) -> str:
        """Return the table of groups."""
        n, equal = len(self._groups), [one for one in self._groups if not one.difference]
        rows = [
            ("groups compared", f"{n:,}"),
            ("their tasks", f"{len(self._logged):,}"),
            ("scores compared", f"{sum(one.n_scores for one in self._groups):,}"),
            (
                "groups with equal scores, standard errors and counts",
                f"{len(equal):,} of {n:,} ({len(equal) / max(n, 1):.2%})",
            ),
        ]
        table = markdown_table(["lm-eval 0.4.13", "number"], [list(row) for row in rows])
        largest = sorted(self._groups, key=lambda one: -one.n_tasks)[:12]
        listed = ", ".join(f"`{one.name}` ({one.n_tasks})" for one in largest)
        lines = [f"- `{one.name}`: {one.difference}" for one in self._groups if one.difference]
        notes = ["", f"The largest, with their numbers of tasks: {listed}."] if largest else []
        return "\n".join([setting(), "", table, *notes, *(["", *lines] if lines else [])])

    def section(self) -> str:
        """Return the tables."""
        n = len(self._compared)
        same_requests = sum(not one.requests for one in self._compared)
        scored = [one for one in self._compared if one.is_scored]
        same_scores = sum(not one.scores for one in scored)
        rows = [
            ("tasks with rows that the original takes", f"{n:,}"),
            ("requests compared", f"{sum(one.n_requests for one in self._compared):,}"),
            ("tasks with equal requests", f"{same_requests:,} of {n:,} ({same_requests / max(n, 1):.2%})"),
            (
                "tasks with equal scores",
                f"{same_scores:,} of {len(scored):,} ({same_scores / max(len(scored), 1):.2%})",
            ),
            ("tasks that the original does not build here", f"{self._without['unbuilt']:,}"),
            ("tasks for which no rows were found", f"{self._without['unmade']:,}"),
        ]
        table = markdown_table(["lm-eval 0.4.13", "number"], [list(row) for row in rows])
        lines = [f"- `{one.name}`: {one.requests or one.scores}" for one in self.differing[:200]]
        return "\n".join([setting(), "", table, "", *lines])


def make_metric(task: LoggedTask, key: str, value: Any, spec: TaskSpec) -> Metric:
    """Return a task's value as a run has it."""
    name = key.rpartition(",")[0] if len(spec.settings["filters"]) == 1 else key
    stderr = task.stderrs.get(key)
    number = float(value) if isinstance(value, float | int) else None
    return Metric(
        task.name,
        spec.methods[0],
        name,
        None,
        number,
        None,
        None,
        *(task.n_evaluated, task.n_evaluated, 0, 0, 0),
        stderr=stderr if isinstance(stderr, float) else None,
        is_share=False,
    )


def shorten_reason(text: str) -> str:
    """Return a reason without the places of this machine."""
    text = re.sub(r"/\S*/(?=[\w.-]+)", "", text)
    return text if len(text) <= _REASON_CHARS else f"{text[:_REASON_CHARS]} ..."


def compare_requests(theirs: Sequence[Mapping[str, Any]], ours: Sequence[Request]) -> str:
    """Return the first difference between the requests of one document."""
    expected = [
        one for one in theirs for _ in range(one["repeats"] if one["type"] == "generate_until" else 1)
    ]
    if len(expected) != len(ours):
        return f"{len(expected)} requests, here {len(ours)}"
    for one, request in zip(expected, ours, strict=True):
        difference = compare_request(one, request)
        if difference:
            return difference
    return ""


def compare_request(theirs: Mapping[str, Any], request: Request) -> str:
    """Return how a request differs."""
    ask = request.ask
    if theirs["type"] == "generate_until":
        if not isinstance(ask, Generate):
            return f"generate_until, here {ask.kind}"
        shown = write_places(ask.prompt)
        if shown != theirs["context"]:
            return f"context {theirs['context']!r:.2000}, here {shown!r:.2000}"
        return compare_generation(theirs["generation"], ask)
    if not isinstance(ask, Span):
        return f"{theirs['type']}, here {ask.kind}"
    if theirs["type"] == "loglikelihood_rolling":
        return (
            ""
            if ask.prompt == theirs["context"]
            else f"text {theirs['context']!r:.200}, here {ask.prompt!r:.200}"
        )
    # The original moves white space at the end of a context to the continuation before it encodes both.
    context = theirs["context"].rstrip()
    text = theirs["context"] + theirs["continuation"]
    if not isinstance(ask.prompt, str) or ask.prompt != text or ask.start != len(context):
        shown = str(ask.prompt)
        ours = (shown[: ask.start], shown[ask.start :])
        return f"{(context, text[len(context) :])!r:.2000}, here {ours!r:.2000}"
    return ""


def write_places(prompt: Prompt) -> str:
    """Return a prompt's text; an image or a clip is written as the place that the task's text gave it."""
    if isinstance(prompt, str):
        return prompt
    parts = [part for message in prompt for part in message.content]
    return "".join(part.text if isinstance(part, Text) else f"<{part.medium}>" for part in parts)  # type: ignore[union-attr]


def compare_generation(theirs: Mapping[str, Any], ask: Generate) -> str:
    """Return how the generation arguments differ."""
    sampling = ask.sampling
    is_sampled = bool(theirs["do_sample"])
    pairs = {
        "until": ([stop for stop in theirs.get("until", []) if stop], list(sampling.stop)),
        "max_gen_toks": (theirs["max_gen_toks"], sampling.max_tokens),
        "temperature": (theirs["temperature"] if is_sampled else 0.0, sampling.temperature),
        "top_p": (theirs.get("top_p", 1.0) if is_sampled else 1.0, sampling.top_p),
    }
    for name, (expected, found) in pairs.items():
        if expected != found:
            return f"{name} {expected!r}, here {found!r}"
    return ""


def answer_requests(requests: Sequence[Request], replies: Sequence[Any]) -> list[AnsweredRequest]:
    """Return the requests with the original's replies."""
    single = [
        reply for several in replies for reply in (several if isinstance(several[0], str) else several[:1])
    ]
    answered = []
    for request, reply in zip(requests, single, strict=True):
        outcome: Any
        if isinstance(reply, str):
            outcome = Completion((Output(reply, Finish.STOP, 1),), 1)
        else:
            total, is_greedy = reply if isinstance(reply, list) else (reply, None)
            outcome = Likelihood(total, 1, 1, 1, is_greedy, 1)
        answered.append(AnsweredRequest(request, Response(request.id, request.key, outcome)))
    return answered


def is_same(theirs: Any, ours: Any) -> bool:
    """Return whether two values are equal; numbers up to the last digits."""
    if isinstance(theirs, str) and theirs.startswith("<"):
        return True  # Not a value that JSON has.
    ours = ours.tolist() if hasattr(ours, "tolist") else ours
    if isinstance(theirs, list):
        ours = list(ours) if isinstance(ours, list | tuple | set) else [ours]
        return len(theirs) == len(ours) and all(map(is_same, theirs, ours))
    if isinstance(theirs, dict):
        return isinstance(ours, Mapping) and all(
            is_same(value, ours.get(key, ours.get(int(key)) if key.isdigit() else None))
            for key, value in theirs.items()
        )
    if isinstance(theirs, float | int) and isinstance(ours, float | int):
        if math.isnan(theirs) or math.isnan(ours):
            return math.isnan(theirs) and math.isnan(ours)
        return math.isclose(theirs, ours, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return bool(theirs == ours)


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
