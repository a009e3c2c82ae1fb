"""Downloads from the hub: interrupted ones, full disks, streams, and what other tools have downloaded."""

from __future__ import annotations

import errno
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli import assay, error_of
from fakes.hub_classes import LLMBOX
from fakes.hub_clients import lead_clients
from fakes.hub_datasets import parquet
from fakes.hub_server import HubServer, broken_after, times
from fakes.terminal import on_terminal

pytest.importorskip("datasets")

SST2 = ("run", "stanfordnlp/sst2", "-m", "mock", "--answer-column", "label")


def test_rows_are_streamed_where_the_disk_has_no_room(
    hub: HubServer, tmp_path: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = assay(*SST2)
    assert kept.status == 0, kept.err
    lead_clients(monkeypatch, hub, tmp_path / "other")
    streamed = assay(*SST2, "--stream")
    assert "rows are streamed from the hub each time they are read: streaming is on" in streamed.out
    assert "is complete" in streamed.err, "the same rows, the same run"
    assert list((tmp_path / "other").rglob("*.arrow")) == []
    full = shutil.disk_usage(tmp_path)._replace(free=100)
    monkeypatch.setattr("assay.sources.hub_dataset.shutil.disk_usage", lambda _: full)
    assert "each time they are read: there is not enough disk space for the split" in assay(*SST2).out
    (workdir / "sums.py").write_text(LLMBOX.replace("LOAD_ARGS", '("openai/gsm8k", "main")'))
    code, _, fix = error_of(assay("run", "sums.py", "-m", "mock"))
    assert code == "HUB-010", "a class needs the rows as a whole"
    assert "set HF_HOME to a folder on a larger disk" in fix


@pytest.mark.parametrize(
    "writes", ["huggingface_hub.file_download.http_get", "assay.hub.downloads._Transfer._stream_once"]
)
def test_a_disk_that_fills_up_during_a_download(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: str
) -> None:
    lead_clients(monkeypatch, hub, tmp_path / "small")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writes, full)
    code, what, fix = error_of(assay("run", "openai/gsm8k:main", "-m", "mock"))
    assert code == "HUB-010"
    assert "the disk that holds the hub's cache is full" in what
    assert "the same command then continues" in fix


def test_an_interrupted_download_resumes_in_the_middle_of_a_file(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lead_clients(monkeypatch, hub, tmp_path / "home")
    monkeypatch.setattr("assay.hub.downloads._RETRY_WAITS_S", (0.0, 0.0))
    noise = random.Random(7)
    rows = [{"question": noise.randbytes(600_000).hex(), "answer": str(n)} for n in range(24)]
    shards = {
        "data/test-00000-of-00002.parquet": parquet(rows),
        "data/test-00001-of-00002.parquet": parquet(rows[:1]),
    }
    repository = hub.add_dataset("org/large", shards)
    large, small = (repository.head.files[path].sha256 for path in shards)
    hub.faults[f"GET /content/{large}"] = [broken_after(5_000_000), *times(2, broken_after(0))]
    failed = assay("run", "org/large", "-m", "mock")
    code, _, fix = error_of(failed)
    assert code == "HUB-011"
    assert "it continues with the files that are not complete yet" in fix
    assert "Downloading org/large (29.9 MB, 2 files) to" in failed.err
    assert "the same command resumes the download" in failed.err
    (part,) = (tmp_path / "home").rglob("*.incomplete")
    n_kept = part.stat().st_size
    assert n_kept > 1_000_000
    hub.log.clear()
    ran = assay("run", "org/large", "-m", "mock")
    assert ran.status == 0, ran.err
    assert "already downloaded" in ran.err
    assert [one.range for one in hub.find_requests(f"GET /content/{large}")] == [f"bytes={n_kept}-"]
    assert hub.find_requests(f"GET /content/{small}") == [], "what was complete is kept"
    assert list((tmp_path / "home").rglob("*.incomplete")) == []


def test_what_other_tools_downloaded_loads_offline(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets
    import huggingface_hub

    home = tmp_path / "home"
    lead_clients(monkeypatch, hub, home)
    commit = hub.repositories["dataset", "openai/gsm8k"].head.sha
    datasets.load_dataset("openai/gsm8k", "socratic", revision=commit)
    huggingface_hub.snapshot_download("stanfordnlp/sst2", repo_type="dataset")
    huggingface_hub.snapshot_download("google/boolq", repo_type="dataset", allow_patterns="*.md")
    hub.log.clear()
    lead_clients(monkeypatch, hub, home, is_offline=True)
    checked = assay("check", "openai/gsm8k:socratic")
    assert f"config socratic, split test, commit {commit}" in checked.out, checked.err
    ran = assay(*SST2)
    assert "split validation" in ran.out, ran.err
    assert "30 rows" in ran.out
    assert error_of(assay("run", "google/boolq", "-m", "mock"))[0] == "HUB-009", "a part is not the whole"
    assert hub.log == []


def test_a_table_with_pictures_stops_unless_its_prompt_is_given(hub: HubServer, shared_data: Path) -> None:
    import datasets

    (picture, *_) = sorted((shared_data / "easy_vqa" / "images").rglob("*.png"))
    rows = [{"image": str(picture), "question": "What shape is it?", "answer": "circle"}]
    text = datasets.Value("string")
    features = datasets.Features({"image": datasets.Image(), "question": text, "answer": text})
    hub.add_dataset("org/vqa", {"data/test-00000-of-00001.parquet": parquet(rows, features=features)})
    code, what, _ = error_of(assay("run", "org/vqa", "-m", "mock"))
    assert (code, what) == (
        "HUB-014",
        "the column contains image files, which the prompt of a table cannot show",
    )
    ran = assay("run", "org/vqa", "-m", "mock", "--template", "{question}")
    assert ran.status == 0, ran.err
    assert "image: the column contains image files" in ran.out


def test_progress_is_drawn_on_a_terminal_and_offline_is_kept(hub: HubServer, tmp_path: Path) -> None:
    assay_run = [sys.executable, "-m", "assay", "run", "openai/gsm8k:main", "-m", "mock"]
    environment = hub.environment(tmp_path / "home")
    shown = on_terminal(assay_run, columns=100, environment=environment)
    assert shown.status == 0, shown.left
    assert re.search(r"Downloading openai/gsm8k \(.+, \d+ files?\)", shown.written)
    assert "read from the hub: openai/gsm8k, config main, split test" in shown.left
    quiet = on_terminal(
        [*assay_run, "--progress", "none"], columns=100, environment=hub.environment(tmp_path / "other")
    )
    assert quiet.status == 0, quiet.left
    assert not re.search(r"Fetching|Generating|Downloading", quiet.written)
    hub.log.clear()
    offline = {**os.environ, **environment}
    done = subprocess.run([*assay_run, "--offline"], env=offline, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "is complete" in done.stderr
    done = subprocess.run(
        [*assay_run, "--offline", "--split", "train"], env=offline, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("HUB-009 hf://openai/gsm8k")
    assert hub.log == []
