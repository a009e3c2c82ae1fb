"""Datasets larger than memory: memory does not grow with rows, and runs resume."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from cli import assay
from peak_memory import measure_peaks

BYTES_A_ROW = 60
"""Tracemalloc's count over all that a run does. One dict entry for a row would take more."""


def rows(n: int) -> Iterator[dict[str, str]]:
    for nth in range(n):
        options = {"A": str(nth + 1), "B": str(nth), "C": str(nth + 2)}
        yield {"question": f"What is {nth} + 1, {'or so ' * 30}?", **options, "answer": "ABC"[nth % 3]}


def written(folder: Path, n: int, kind: str) -> Path:
    path = folder / f"rows-{n}.{kind}"
    if kind == "csv":
        with open(path, "w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, next(rows(1)).keys())
            table.writeheader()
            table.writerows(rows(n))
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows(n)), encoding="utf-8")
    else:
        pyarrow = pytest.importorskip("pyarrow")
        source, schema = rows(n), pyarrow.Table.from_pylist([next(rows(1))]).schema
        writing = pytest.importorskip("pyarrow.parquet").ParquetWriter if kind == "parquet" else None
        with (writing or pyarrow.ipc.new_file)(str(path), schema) as file:
            while chunk := list(islice(source, 200)):
                file.write_table(pyarrow.Table.from_pylist(chunk, schema))
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("jsonl", "gen"),
        ("csv", "gen"),
        ("parquet", "gen"),
        ("arrow", "gen"),
        ("jsonl", "ppl"),
        ("jsonl", "prob"),
    ],
)
def test_memory_of_a_run_does_not_grow_with_its_rows(workdir: Path, kind: str, method: str) -> None:
    # Beside fewer rows, buffers that are bounded are not full yet.
    few, many = 900, 2_100
    small, large = measure_peaks([written(workdir, n, kind).name for n in (few, many)], method)
    n_requests = {"gen": 1, "ppl": 6, "prob": 1}[method]
    assert large.fresh - small.fresh < (many - few) * BYTES_A_ROW
    # Sixteen bytes for each answer that is there, and as many while they are put in order.
    assert large.resumed - small.resumed < (many - few) * (BYTES_A_ROW + 80 * n_requests)


CONFIG = """
from opencompass.datasets import HFDataset
from opencompass.openicl.icl_evaluator import AccEvaluator
from opencompass.openicl.icl_inferencer import PPLInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

reader = dict(input_columns=["question"], output_column="answer", test_split="train")
template = dict(type=PromptTemplate, template={name: "{question} {" + name + "}" for name in "ABC"})
asked = dict(type=PPLInferencer)
infer = dict(prompt_template=template, retriever=dict(type=ZeroRetriever), inferencer=asked)
datasets = [
    dict(type=HFDataset, abbr="big", path="parquet", data_files="ROWS", cache_dir="kept",
         reader_cfg=reader, infer_cfg=infer, eval_cfg=dict(evaluator=dict(type=AccEvaluator)))
]
"""


@pytest.mark.slow
def test_memory_of_a_config_does_not_grow_with_a_mapped_dataset(workdir: Path) -> None:
    pytest.importorskip("datasets")
    # Beside fewer rows, buffers that are bounded are not full yet.
    few, many = 1_500, 3_000
    for n in (few, many):
        table = written(workdir, n, "parquet")
        (workdir / f"config_{n}.py").write_text(CONFIG.replace("ROWS", str(table)), encoding="utf-8")
    small, large = measure_peaks([f"config_{n}.py" for n in (few, many)], "ppl")
    assert large.fresh - small.fresh < (many - few) * BYTES_A_ROW


@pytest.mark.slow
def test_a_large_run_that_was_killed_continues_and_comes_to_the_same(workdir: Path) -> None:
    """Killed when more is answered than is put in order by Python alone."""
    table = written(workdir, 26_000, "jsonl")
    command = ["run", table.name, "-m", "mock", "--method", "gen", "--no-cache", "--out"]
    dying = [sys.executable, "-m", "assay", *command, "killed", "--model-arg", "die_on=What is 23000 +"]
    died = subprocess.run(dying, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr
    journal = workdir / "killed" / "responses.jsonl"
    for out in ("killed", "whole"):
        answer = assay(*command, out)
        assert answer.status == 0, answer.err
    for name in ("summary.json", "scores.jsonl", "samples.jsonl"):
        assert (workdir / "killed" / name).read_bytes() == (workdir / "whole" / name).read_bytes(), name
    ids = Counter(json.loads(line)["request_id"] for line in journal.read_bytes().splitlines())
    assert len(ids) == 26_000
    assert set(ids.values()) == {1}
    manifest = json.loads((workdir / "killed" / "manifest.json").read_bytes())
    assert manifest["stats"]["requests_journaled"] == 23_000


@pytest.mark.slow
def test_a_file_larger_than_the_memory_that_a_run_may_have(workdir: Path) -> None:
    """The limit is on all that a process may write to: 200 MiB, for a file of more."""
    path = workdir / "long.jsonl"
    filler = "word " * 10_000
    with open(path, "w", encoding="utf-8") as file:
        for nth in range(4_500):
            file.write(json.dumps({"question": f"{nth} {filler}", "answer": "x"}) + "\n")
    limit = 200 << 20
    assert path.stat().st_size > limit
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_DATA, ({limit}, {limit}));"
        "from assay.faces.cli.main import main; main()"
    )
    command = ["run", path.name, "-m", "mock", "--method", "gen", "--no-cache", "--out", "out"]
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads((workdir / "out" / "summary.json").read_bytes())[0]["n"] == 4_500
