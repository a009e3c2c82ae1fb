"""UltraEval's own main.py beside `assay as ultraeval --fidelity faithful`, against one logging server.

    python -m benchmarks.conformance_ultraeval_program --checkout DIR              # prints the table
    python -m benchmarks.conformance_ultraeval_program --checkout DIR --write      # puts it into RESULTS.md

The checkout is copied to a temporary folder, rows are made for all of its tasks, and its unmodified program
runs there in an environment of its own. Both programs get the same list of configs, the same flags and the
same server. For each task the script compares what was sent (texts, and the parameters of the task's own
file), instance.jsonl, the values and config.json.

One thing is set from outside: the original draws examples by a generator without a seed, so its interpreter
starts with one that has Assay's.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.results.rows import markdown_list, markdown_table
from benchmarks.peers import peer_python
from benchmarks.record import add_output_options, hand_over, setting
from benchmarks.ultraeval_rows import N_ROWS, Row, accepted_rows
from benchmarks.ultraeval_server import Body, LoggingServer, serving

Config = dict[str, Any]
METHODS = ("gen", "ppl")
_USUAL = {
    "gen": ("general_torch", "models/model_params/vllm_sample.json"),
    "ppl": ("general_torch_ppl", "models/model_params/vllm_logprobs.json"),
}
_PARTS = ("requests", "instance.jsonl", "values", "config.json")
_SEEDED = """
import random

class Seeded(random.Random):
    def __init__(self, x=0):
        super().__init__(x)

random.Random = Seeded
"""
_BEAMS = "models/model_params/vllm_beamsearch.json"


class Case(NamedTuple):
    """One command, given to both programs."""

    name: str
    method: str
    flags: tuple[str, ...] = ()
    params: Mapping[str, Any] | str | None = None
    """The parameters of all its tasks, or the path of the file, instead of the configs' own."""
    chosen: Callable[[Config], bool] = lambda config: True
    rows: Callable[[list[Row]], list[Row]] | None = None
    """Changes the rows."""
    is_elsewhere: bool = False
    """Whether the list is outside the checkout."""


def _of(*datasets: str) -> Callable[[Config], bool]:
    return lambda config: config["task_name"].partition("_")[0] in datasets


def _with_twins(rows: list[Row]) -> list[Row]:
    """Make five of six rows equal: mostly all examples that are drawn are the asked row."""
    return [*[rows[0]] * (len(rows) - 1), rows[-1]]


def _too_long(rows: list[Row]) -> list[Row]:
    return [{**row, "question": f"{row['question']} underflow"} for row in rows]


CASES = (
    Case("every gen task", "gen"),
    Case("every ppl task", "ppl"),
    Case("2 examples, gen", "gen", ("--num_fewshot", "2")),
    Case("2 examples, ppl", "ppl", ("--num_fewshot", "2")),
    Case("the first 3 rows", "gen", ("--limit", "3"), chosen=_of("mmlu", "gsm8k", "flores", "humaneval")),
    Case(
        "3 samples a row, 0 examples",
        "gen",
        ("--num_fewshot", "0"),
        {"temperature": 0.3, "top_p": 0.8, "max_tokens": 20, "sampling_num": 3},
        _of("humaneval", "mbpp", "gsm8k", "bbh", "wmt20-en-zh"),
    ),
    Case(
        "3 samples a row, 2 examples",
        "gen",
        ("--num_fewshot", "2"),
        {"temperature": 0.3, "top_p": 0.8, "max_tokens": 20, "sampling_num": 3},
        _of("mbpp", "gsm8k", "bbh", "wmt20-en-zh"),
    ),
    Case("beam search", "gen", (), _BEAMS, _of("gsm8k", "copa", "humaneval")),
    Case(
        "other parameters of the server",
        "gen",
        (),
        {"temperature": 0.5, "top_k": 5, "presence_penalty": 0.5, "stop": ["\n\n"], "ignore_eos": True},
        _of("gsm8k", "copa"),
    ),
    Case("batch_size in the parameters", "gen", (), {"max_tokens": 9, "batch_size": 2}, _of("copa", "mmlu")),
    Case("examples equal to the row", "gen", ("--num_fewshot", "2"), None, _of("copa", "mmlu"), _with_twins),
    Case("a list outside the checkout", "gen", (), None, _of("copa", "gsm8k"), is_elsewhere=True),
    Case("likelihoods that underflow", "ppl", (), None, _of("truthfulqa", "copa"), _too_long),
)


class Ran(NamedTuple):
    """What a program left behind."""

    folders: Mapping[str, Path]
    """By task."""
    bodies: Sequence[Body]
    problems: Mapping[str, str]
    """Why a task was not finished."""


class Compared(NamedTuple):
    """One case: for each task what differs, by part."""

    case: Case
    n_tasks: int
    differing: Mapping[str, Mapping[str, str]]
    """By task that both finished; nothing differs in most."""
    unfinished: Mapping[str, str]
    further: Counter[str]
    """Parameters that Assay sends beyond those of a task's file."""


def main() -> None:
    """Run all cases and hand the table over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--checkout", type=Path, required=True, help="a checkout of UltraEval")
    parser.add_argument("--python", help="a python that has what main.py imports [one is made]")
    parser.add_argument("--case", action="append", help="only cases with these names")
    add_output_options(parser)
    options = parser.parse_args()
    python = peer_python("ultraeval", options.python)
    cases = [case for case in CASES if not options.case or case.name in options.case]
    with tempfile.TemporaryDirectory() as folder, serving() as server:
        work = Workplace(options.checkout, Path(folder), python, server)
        compared = []
        for case in cases:
            compared.append(work.compare(case))
            print(f"{case.name}: {_summary(compared[-1])}", file=sys.stderr, flush=True)
        hand_over("conformance_ultraeval_program", section(compared, work.without_rows), options)


class Workplace:
    """A copy of the checkout with rows, and the two programs that run in it."""

    def __init__(self, checkout: Path, folder: Path, python: Path, server: LoggingServer) -> None:
        # The package is found by the folder's name.
        self._root = folder / "UltraEval"
        self._folder, self._python, self._server = folder, python, server
        shutil.copytree(checkout, self._root, ignore=shutil.ignore_patterns(".git", "RawData", "logs"))
        (folder / "seeded").mkdir()
        (folder / "seeded" / "sitecustomize.py").write_text(_SEEDED, encoding="utf-8")
        self._configs = {method: self._listed(method) for method in METHODS}
        self._rows: dict[str, list[Row]] = {}
        self.without_rows: list[str] = []
        self._make_rows()

    def _listed(self, method: str) -> list[Config]:
        """Return all configs of a method, as the original's own script lists them."""
        command = [str(self._python), "configs/make_config.py", "--datasets", "all", "--method", method]
        subprocess.run(
            [*command, "--save", f"{method}.json"], cwd=self._root, check=True, capture_output=True
        )
        configs: list[Config] = json.loads((self._root / "configs" / f"{method}.json").read_text("utf-8"))
        return sorted(configs, key=lambda config: str(config["task_name"]))

    def _make_rows(self) -> None:
        by_path: dict[str, list[Config]] = defaultdict(list)
        for config in (one for method in METHODS for one in self._configs[method]):
            by_path[config["path"]].append(config)
        for path, configs in by_path.items():
            rows = accepted_rows(
                f"{Path(path).parts[1]} {Path(path).stem}",
                [(self._root / config["transform"], config["task_name"]) for config in configs],
                with_options=any(config["generate"]["method"] == "loglikelihood" for config in configs),
            )
            if rows is None:
                self.without_rows += [config["task_name"] for config in configs]
            else:
                self._rows[path] = rows

    def compare(self, case: Case) -> Compared:
        """Run both programs on a case and compare what they did."""
        configs = [
            json.loads(json.dumps(config))
            for config in self._configs[case.method]
            if config["path"] in self._rows and case.chosen(config)
        ]
        for path in {config["path"] for config in configs}:
            rows = self._rows[path] if case.rows is None else case.rows(self._rows[path])
            self._write_rows(path, rows)
        _, usual = _USUAL[case.method]
        params = usual
        if case.params is not None:
            params = case.params if isinstance(case.params, str) else "configs/own_params.json"
            if not isinstance(case.params, str):
                (self._root / params).write_text(json.dumps(case.params), encoding="utf-8")
            for config in configs:
                config["generate"]["params"] = ""
        self._server.is_sampling = case.name.startswith("3 samples")
        original = self._original(case, configs, params)
        ours = self._ours(case, configs, params)
        return self._compared(case, configs, params, original, ours)

    def _write_rows(self, path: str, rows: Sequence[Row]) -> None:
        file = self._root / path
        file.parent.mkdir(exist_ok=True)
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _command(self, case: Case, configs: Sequence[Config], params: str, out: Path) -> list[str]:
        place = self._folder if case.is_elsewhere else self._root / "configs"
        listed = place / "case.json"
        listed.write_text(json.dumps(configs, ensure_ascii=False), encoding="utf-8")
        postprocess, _ = _USUAL[case.method]
        where = f"url={self._server.url},concurrency=1"
        command = ["--model", "general", "--model_args", where, "--config_path", str(listed)]
        command += ["--output_base_path", str(out), "--batch_size", "16", "--postprocess", postprocess]
        return [*command, "--params", params, "--write_out", *case.flags]

    def _run(self, command: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
        usual = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
        return subprocess.run(
            list(command),
            cwd=self._root,
            env={**usual, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def _original(self, case: Case, configs: Sequence[Config], params: str) -> Ran:
        """Run main.py; a task that ends it is left out, and the rest run again."""
        problems: dict[str, str] = {}
        folders: dict[str, Path] = {}
        left = list(configs)
        self._server.reset()
        while left:
            out = Path(tempfile.mkdtemp(dir=self._folder))
            done = self._run(
                [str(self._python), "main.py", *self._command(case, left, params, out)],
                OPENAI_API_KEY="none",
                PYTHONPATH=str(self._folder / "seeded"),
            )
            found = _folders(out)
            folders |= found
            if not done.returncode:
                break
            last = done.stderr.strip().rpartition("\n")[2] or done.stdout.strip().rpartition("\n")[2]
            unfinished = [config["task_name"] for config in left if config["task_name"] not in found]
            if not unfinished:
                # It makes its table last: no mean can be shown of a value that is a list.
                break
            problems[unfinished[0]] = last
            left = [config for config in left if config["task_name"] in unfinished[1:]]
        return Ran(folders, self._server.reset(), problems)

    def _ours(self, case: Case, configs: Sequence[Config], params: str) -> Ran:
        out = Path(tempfile.mkdtemp(dir=self._folder))
        assay = Path(sys.executable).with_name("assay")
        command = self._command(case, configs, params, out)
        done = self._run(
            [str(assay), "as", "ultraeval", *command, "--fidelity", "faithful", "--fresh"],
            ASSAY_CACHE=str(self._folder / "cache"),
        )
        problems = {}
        if done.returncode not in (0, 3):
            problems = {config["task_name"]: done.stderr.strip()[-300:] for config in configs}
        return Ran(_folders(out), self._server.reset(), problems)

    def _compared(
        self, case: Case, configs: Sequence[Config], params: str, original: Ran, ours: Ran
    ) -> Compared:
        sent = [_sent(ran.bodies) for ran in (original, ours)]
        differing: dict[str, Mapping[str, str]] = {}
        unfinished: dict[str, str] = {}
        further: Counter[str] = Counter()
        for config in configs:
            name = config["task_name"]
            for who, ran in (("the original", original), ("Assay", ours)):
                if name not in ran.folders:
                    why = ran.problems.get(name, "no files")
                    unfinished[name] = f"{unfinished.get(name, '')}{who}: {why}; "
            if name in unfinished:
                continue
            file = self._root / (config["generate"]["params"] or params)
            wanted = {
                key: value for key, value in json.loads(file.read_text("utf-8")).items() if value is not None
            }
            files = [_Files(ran.folders[name]) for ran in (original, ours)]
            differing[name] = dict(_differences(case.method, files, sent, wanted))
            for text in files[1].texts(case.method):
                known = sent[1].get(text, {})
                further.update(key for key, value in known.items() if key not in wanted and value is not None)
        return Compared(case, len(configs), differing, unfinished, further)


class _Files:
    """The files of one task."""

    def __init__(self, folder: Path) -> None:
        self.rows = [json.loads(line) for line in (folder / "instance.jsonl").read_text("utf-8").splitlines()]
        self.metrics = json.loads((folder / "final_metrics.json").read_text("utf-8"))
        self.config = json.loads((folder / "config.json").read_text("utf-8"))

    def texts(self, method: str) -> set[str]:
        """Return what was sent for the task."""
        if method == "gen":
            return {prompt for row in self.rows for prompt in row["prompt_inputs"]}
        return {
            row["prompt_inputs"][0] + option for row in self.rows for option in row["data"]["target_scores"]
        }


def _folders(out: Path) -> dict[str, Path]:
    return {path.parent.name: path.parent for path in out.glob("*/*/final_metrics.json")}


def _sent(bodies: Sequence[Body]) -> dict[str, Body]:
    """Return the parameters that each text was sent with."""
    return {text: body["params"] for body in bodies for text in body["instances"]}


def _differences(
    method: str, files: Sequence[_Files], sent: Sequence[Mapping[str, Body]], wanted: Body
) -> Iterator[tuple[str, str]]:
    """Yield what differs between the two programs for one task."""
    texts = [one.texts(method) for one in files]
    if texts[0] != texts[1]:
        yield "requests", "other texts"
    elif missing := [text for text in texts[0] if any(text not in log for log in sent)]:
        yield "requests", f"{len(missing)} texts were not sent"
    elif unlike := {
        key
        for text in texts[0]
        for log in sent
        for key, value in wanted.items()
        if log[text].get(key) != value
    }:
        yield "requests", f"parameters {', '.join(sorted(unlike))}"
    fields = sorted(
        {
            field
            for one, other in zip(files[0].rows, files[1].rows, strict=False)
            for field in (*one, *other)
            if not _alike(_unordered(field, one.get(field)), _unordered(field, other.get(field)))
        }
    )
    if len(files[0].rows) != len(files[1].rows):
        yield "instance.jsonl", "number of rows"
    elif fields:
        yield "instance.jsonl", ", ".join(fields)
    unlike_values = [
        key
        for key in ("instance_result", "overall_result")
        if not _alike(files[0].metrics[key], files[1].metrics[key])
    ]
    if unlike_values:
        yield "values", ", ".join(unlike_values)
    keys = [key for key in files[0].config if key != "log_dir"]
    unlike_keys = [key for key in keys if not _alike(files[0].config[key], files[1].config.get(key))]
    if unlike_keys:
        yield "config.json", ", ".join(unlike_keys)


def _unordered(field: str, value: Any) -> Any:
    """Return a value without the order of the programs, which the original writes as they end."""
    if field != "eval_results":
        return value
    return {key: sorted(one) if isinstance(one, list) else one for key, one in value.items()}


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        if not isinstance(one, (int, float)) or not isinstance(other, (int, float)):
            return False
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other)


def _summary(one: Compared) -> str:
    counts = [f"{sum(part not in found for found in one.differing.values())} {part}" for part in _PARTS]
    return f"{len(one.differing)} of {one.n_tasks} tasks finished by both; equal: {', '.join(counts)}"


def section(compared: Sequence[Compared], without_rows: Sequence[str]) -> str:
    """Return the table, and what differs."""
    rows = [
        (
            one.case.name,
            f"{one.n_tasks:,}",
            f"{len(one.differing):,}",
            *(f"{sum(part not in found for found in one.differing.values()):,}" for part in _PARTS),
        )
        for one in compared
    ]
    table = markdown_table(("case", "tasks", "finished by both", *(f"equal {part}" for part in _PARTS)), rows)
    different: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    unfinished: dict[str, list[str]] = defaultdict(list)
    for one in compared:
        for task, found in one.differing.items():
            for part, what in found.items():
                different[part, what, one.case.name].append(task)
        for task, why in one.unfinished.items():
            unfinished[why.strip("; ")[:160]].append(task)
    lines = [
        f"{part}, case “{case}”: {what} ({len(tasks)} tasks, such as `{tasks[0]}`)"
        for (part, what, case), tasks in different.items()
    ]
    lines += [
        f"not finished, {why} ({len(tasks)}, such as `{tasks[0]}`)" for why, tasks in unfinished.items()
    ]
    lines += (
        [f"no rows could be made for {len(without_rows)} tasks, such as `{without_rows[0]}`"]
        if without_rows
        else []
    )
    further = sum((one.further for one in compared), Counter[str]())
    parts = [f"{N_ROWS} rows for each task.", table]
    parts += [markdown_list(lines)] if lines else []
    if further:
        parts.append(f"Assay also sends {', '.join(f'`{name}`' for name in sorted(further))}.")
    return "\n\n".join([*parts, setting()])


if __name__ == "__main__":
    main()
