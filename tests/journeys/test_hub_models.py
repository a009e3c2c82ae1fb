"""Models by their name on the hub: whole commands, the real clients, a hub on the loopback."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.backends.hf.embedded_model import EmbeddedFiles
from cli import Result, assay
from fakes.hub_here import hub_here
from fakes.hub_repositories import Content
from fakes.hub_server import (
    HubServer,
    User,
    broken,
    broken_after,
    hub_on_loopback,
    slow,
    stalled_after,
    status,
)
from fakes.terminal import on_terminal
from fakes.tiny_models import tiny_config, tiny_tokenizer

pytest.importorskip("huggingface_hub")
ASSAY = (sys.executable, "-m", "assay")
DATA = "question,A,B,answer\n1+1=,1,2,B\n2+2=,4,5,A\n"
TOKEN = "hf_readerreaderreader"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "models.md"


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with hub_on_loopback() as server:
        server.users[TOKEN] = User("reader", ("org/closed",))
        yield server


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A random model of a few megabytes, as the files of a repository."""
    return write_tiny(tmp_path_factory.mktemp("tiny"), seed=7)


@pytest.fixture(scope="session")
def other_tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same with other weights."""
    return write_tiny(tmp_path_factory.mktemp("other"), seed=8)


def write_tiny(folder: Path, seed: int, **saving: Any) -> dict[str, Path]:
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    tokenizer = tiny_tokenizer(adds_bos=False, chat=True)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        # A vocabulary beyond the tokenizer's makes the file large enough to be interrupted.
        model = AutoModelForCausalLM.from_config(tiny_config("llama", 12_000, 256))
    model.save_pretrained(folder, **saving)
    tokenizer.save_pretrained(folder)
    return {path.name: path for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data.csv").write_text(DATA, encoding="utf-8")
    return tmp_path


@pytest.fixture
def here(hub: HubServer, folder: Path) -> Iterator[pytest.MonkeyPatch]:
    """Commands run in this process, in the folder."""
    with hub_here(hub, folder / "hf") as patch:
        patch.chdir(folder)
        patch.setenv("ASSAY_CACHE", str(folder / "assay-cache"))
        yield patch


def run(model: str, *arguments: str) -> Result:
    """Run `assay run` in this process."""
    return assay("run", "data.csv", "-m", model, "--max-tokens", "4", "--method", "gen", *arguments)


def environment(hub: HubServer, folder: Path, **more: str) -> dict[str, str]:
    around = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    own = {"ASSAY_CACHE": str(folder / "assay-cache"), "OMP_NUM_THREADS": "1"}
    return {**around, **hub.environment(folder / "hf"), **own, **more}


def run_outside(hub: HubServer, folder: Path, model: str, *arguments: str, **more: str) -> Result:
    """Run `assay run` in a process of its own."""
    done = subprocess.run(
        [*ASSAY, "run", "data.csv", "-m", model, "--max-tokens", "4", "--method", "gen", *arguments],
        cwd=folder,
        env=environment(hub, folder, **more),
        capture_output=True,
        text=True,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def manifests(folder: Path) -> list[dict[str, Any]]:
    paths = sorted((folder / "runs").glob("*/manifest.json"))
    return [json.loads(path.read_text("utf-8")) for path in paths]


def words(text: str) -> str:
    """Return a text without its line breaks."""
    return " ".join(text.split())


def asked_paths(hub: HubServer) -> set[str]:
    """Return the files that were asked for, by their path in the repository."""
    return {one.path.split("/", 5)[-1] for one in hub.log if "/resolve/" in one.path}


# --- the commit ---


def test_a_model_by_name_runs_at_the_commit_that_its_branch_names_at_the_start(
    hub: HubServer,
    folder: Path,
    here: pytest.MonkeyPatch,
    tiny: dict[str, Content],
    other_tiny: dict[str, Content],
) -> None:
    repository = hub.add_model("org/tiny", tiny)
    first = repository.head.sha
    repository.tag("v1")
    done = run_outside(hub, folder, "hf:org/tiny", "--out", "runs/first")
    assert done.status == 0, done.err
    assert re.search(
        r"^Downloading org/tiny: configuration and tokenizer \(.* files\); the weights are", done.err, re.M
    )
    assert re.search(r"^Downloading org/tiny \(3\.\d+ MB, 1 file\) to .*/hf/hub$", done.err, re.M)
    (manifest,) = manifests(folder)
    model = manifest["model"]
    assert (model["name"], model["weights"], model["revision"]) == (
        "hf:org/tiny",
        f"org/tiny@{first}",
        "main",
    )
    assert {one.path.split("/")[4] for one in hub.log if "/resolve/" in one.path} == {first}

    # The same again: one question to the hub, nothing downloaded, nothing said about downloads.
    hub.log.clear()
    again = run("hf:org/tiny", "--out", "runs/first")
    assert (again.status, "Downloading" in again.err) == (0, False)
    assert [one.path for one in hub.log] == ["/api/models/org/tiny/revision/main"]

    # The branch moves: another model, of which no answer is known.
    second = repository.commit({"model.safetensors": other_tiny["model.safetensors"]}, "Other weights")
    moved = run("hf:org/tiny", "--out", "runs/second")
    assert moved.status == 0, moved.err
    newer = manifests(folder)[1]
    assert newer["model"]["weights"] == f"org/tiny@{second}"
    assert newer["stats"]["requests_cached"] == newer["stats"]["requests_journaled"] == 0
    assert "configuration" not in moved.err, "the same content is not downloaded twice"

    # A tag, and a commit: the old model. Of a commit in the cache the hub is asked nothing.
    tagged = run("hf:org/tiny@v1", "--out", "runs/third")
    assert tagged.status == 0, tagged.err
    hub.log.clear()
    pinned = run(f"hf:org/tiny@{first}", "--out", "runs/xfourth")
    assert (pinned.status, hub.log) == (0, []), pinned.err
    tag, commit = (one["model"] for one in manifests(folder)[2:])
    assert (tag["weights"], tag["revision"]) == (f"org/tiny@{first}", "v1")
    assert (commit["weights"], commit["revision"]) == (f"org/tiny@{first}", first)

    # What a sample looked like to the model is explained with the commit of its run.
    hub.log.clear()
    explained = assay("explain", "runs/first", "row:1")
    assert (explained.status, hub.log) == (0, []), explained.err


def test_offline_the_cache_answers_and_says_what_it_has(
    hub: HubServer,
    folder: Path,
    here: pytest.MonkeyPatch,
    tiny: dict[str, Content],
    other_tiny: dict[str, Content],
) -> None:
    commit = hub.add_model("org/tiny", tiny).head.sha
    hub.add_model("org/half", other_tiny)
    assert run("hf:org/tiny").status == 0
    hub.faults["GET /content/"] = [status(404)]
    assert run("hf:org/half").status == 2, "only the small files arrive"
    hub.log.clear()
    sealed = run_outside(hub, folder, "hf:org/tiny", "--offline", "--out", "sealed")
    assert sealed.status == 0, sealed.err
    model = json.loads((folder / "sealed" / "manifest.json").read_text("utf-8"))["model"]
    assert (model["weights"], model["revision"]) == (f"org/tiny@{commit}", "main")
    absent = run_outside(hub, folder, "hf:org/absent", "--offline")
    here.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for missing in (absent, run("hf:org/absent")):
        assert (missing.status, "MODEL-016" in missing.err) == (2, True), missing.err
        assert "org/absent is not in the cache" in words(missing.err)
        assert "the cache has 'org/half', 'org/tiny'" in words(missing.err)
    assert "the cache has org/tiny at 'main', not at 'v9'" in words(run("hf:org/tiny@v9").err)
    half = run("hf:org/half")
    assert (half.status, "MODEL-016" in half.err) == (2, True), half.err
    assert "the cache has only a part of org/half" in words(half.err)
    assert run("hf:org/tiny", "--fresh").status == 0
    assert hub.log == []


def test_without_a_network_the_cached_commit_is_used_and_the_run_notes_it(
    hub: HubServer, folder: Path, here: pytest.MonkeyPatch, tiny: dict[str, Content]
) -> None:
    hub.add_model("org/tiny", tiny)
    assert run("hf:org/tiny").status == 0
    hub.stop()
    done = run("hf:org/tiny", "--out", "runs/unreached")
    assert done.status == 0, done.err
    (note,) = (note for one in manifests(folder) for note in one["notes"] if "could not be reached" in note)
    assert "the cached commit" in note


# --- what is downloaded ---


def test_only_the_files_that_are_loaded_are_downloaded(
    hub: HubServer, folder: Path, here: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    sharded = write_tiny(tmp_path_factory.mktemp("sharded"), seed=7, max_shard_size="1MB")
    shards = {name for name in sharded if name.endswith(".safetensors")}
    assert len(shards) > 1
    decoys = (
        *("pytorch_model.bin", "consolidated.safetensors", "tf_model.h5", "flax_model.msgpack"),
        *("onnx/model.onnx", "original/consolidated.00.pth", "model.fp16.safetensors", "trainer_state.json"),
        *("model-00009-of-00009.safetensors", "gguf/tiny.gguf", "README.md", "training_args.bin"),
        *("pytorch_model.bin.index.json", "onnx/config.json", "modeling_other.py"),
    )
    hub.add_model("org/many", {**dict.fromkeys(decoys, b"never read"), **sharded})
    done = run("hf:org/many", "--progress", "json")
    assert done.status == 0, done.err
    asked = asked_paths(hub)
    assert asked.isdisjoint(decoys)
    assert shards < asked
    events = [json.loads(line) for line in done.err.splitlines() if '"download"' in line]
    small, large = (
        [one["download"] for one in events if bool(one["download"]["what"]) is is_small]
        for is_small in (True, False)
    )
    n_bytes = sum(sharded[name].stat().st_size for name in shards)
    assert [one["state"] for one in (small[0], small[-1])] == ["begun", "finished"]
    assert small[0]["later"] >= n_bytes
    assert (large[0]["state"], large[0]["n_done"]) == ("begun", 0)
    assert large[-1] | {"seconds": 0, "bytes_per_s": 0} == {
        "repository": "org/many",
        "commit": hub.repositories["model", "org/many"].head.sha,
        "folder": str(folder / "hf" / "hub" / "models--org--many"),
        "n_files": len(shards),
        "n_bytes": n_bytes,
        "n_done": n_bytes,
        "seconds": 0,
        "bytes_per_s": 0,
        "state": "finished",
        "what": "",
        "later": 0,
    }


def test_pickled_weights_are_read_without_running_them_and_noted(
    hub: HubServer, folder: Path, here: pytest.MonkeyPatch, tiny: dict[str, Path]
) -> None:
    import torch
    from safetensors.torch import load_file

    torch.save(load_file(tiny["model.safetensors"]), folder / "pytorch_model.bin")
    files = {name: path for name, path in tiny.items() if name != "model.safetensors"}
    hub.add_model("org/pickled", {**files, "pytorch_model.bin": folder / "pytorch_model.bin"})
    done = run("hf:org/pickled")
    assert done.status == 0, done.err
    assert any("its .bin files are pickles" in note for note in manifests(folder)[0]["notes"])


def test_reading_prompts_needs_the_tokenizer_and_no_weights(
    hub: HubServer, here: pytest.MonkeyPatch, tiny: dict[str, Content]
) -> None:
    hub.add_model("org/tiny", tiny)
    done = assay("check", "data.csv", "-m", "hf:org/tiny", "--method", "gen")
    assert done.status == 0, done.err
    assert asked_paths(hub) >= {"tokenizer.json", "config.json"}
    assert hub.find_requests("GET /content/") == []


def test_code_of_the_repository_runs_only_where_that_is_allowed(
    hub: HubServer, folder: Path, tiny: dict[str, Path]
) -> None:
    config = json.loads(tiny["config.json"].read_text("utf-8"))
    own = {"AutoConfig": "own_code.OwnConfig", "AutoModelForCausalLM": "own_code.OwnForCausalLM"}
    code = """
from transformers import LlamaConfig, LlamaForCausalLM


class OwnConfig(LlamaConfig):
    model_type = "own"


class OwnForCausalLM(LlamaForCausalLM):
    config_class = OwnConfig
"""
    files: dict[str, Content] = {**tiny, "own_code.py": code}
    files["config.json"] = json.dumps({**config, "model_type": "own", "auto_map": own})
    hub.add_model("org/own", files)
    rejected = run_outside(hub, folder, "hf:org/own")
    assert (rejected.status, "MODEL-019" in rejected.err) == (2, True), rejected.err
    assert "own_code.py" not in asked_paths(hub)
    done = run_outside(hub, folder, "hf:org/own", "--model-arg", "trust_remote_code=true")
    assert done.status == 0, done.err


# --- interruptions ---


def test_ctrl_c_keeps_what_has_arrived_and_the_same_command_resumes_there(
    hub: HubServer, folder: Path, here: pytest.MonkeyPatch, tiny: dict[str, Content]
) -> None:
    hub.add_model("org/tiny", tiny)
    n_kept = 1 << 20
    hub.faults["GET /content/"] = [stalled_after(n_kept)]
    command = [*ASSAY, "run", "data.csv", "-m", "hf:org/tiny", "--max-tokens", "4"]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment(hub, folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    blobs = folder / "hf" / "hub" / "models--org--tiny" / "blobs"
    deadline = time.monotonic() + 120
    while sum(part.stat().st_size for part in blobs.glob("*.incomplete")) < n_kept:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "1.05 MB of 3.15 MB of org/tiny downloaded: the same command resumes the download" in err
    hub.log.clear()
    done = run("hf:org/tiny")
    assert done.status == 0, done.err
    assert [one.range for one in hub.find_requests("GET /content/")] == [f"bytes={n_kept}-"]
    assert "1.05 MB already downloaded" in done.err
    assert not list(blobs.glob("*.incomplete"))


def test_a_broken_connection_is_resumed_by_itself_and_a_damaged_file_is_not_used(
    hub: HubServer, here: pytest.MonkeyPatch, tiny: dict[str, Content]
) -> None:
    hub.add_model("org/tiny", tiny)
    hub.faults["GET /content/"] = [broken_after(1 << 20), broken]
    done = run("hf:org/tiny")
    assert done.status == 0, done.err
    ranges = [one.range for one in hub.find_requests("GET /content/")]
    assert ranges[0] is None
    assert len(ranges) == 3
    assert all(one is not None for one in ranges[1:])

    damaged = hub.add_model("org/damaged", {**tiny, "model.safetensors": b"one kind of bytes"})
    blob = damaged.head.files["model.safetensors"]
    blob.__dict__["sha256"], blob._content = blob.sha256, b"other kind of byte"[: blob.size]
    result = run("hf:org/damaged")
    assert (result.status, "MODEL-014" in result.err) == (2, True), result.err
    assert "model.safetensors is damaged" in words(result.err)


def test_a_terminal_shows_a_bar(hub: HubServer, folder: Path, tiny: dict[str, Content]) -> None:
    hub.add_model("org/tiny", tiny)
    hub.faults["GET /content/"] = [slow(1.5)]
    arguments = ("run", str(folder / "data.csv"), "-m", "hf:org/tiny", "--max-tokens", "4")
    shown = on_terminal(
        [*ASSAY, *arguments, "--runs-dir", str(folder / "runs")],
        columns=110,
        environment={**environment(hub, folder), "TERM": "xterm"},
    )
    assert shown.status == 0, shown.left
    assert any(re.search(r"Downloading org/tiny +─+ +0 B of 3\.15 MB +0 %", frame) for frame in shown.frames)
    assert "─  0 B" not in shown.left
    assert "Downloading org/tiny (3.15 MB, 1 file)" in shown.left


# --- secrets ---


def test_a_token_opens_a_gated_model_and_is_written_nowhere(
    hub: HubServer, folder: Path, here: pytest.MonkeyPatch, tiny: dict[str, Content]
) -> None:
    hub.add_model("org/closed", tiny, gated="manual")
    here.setenv("HF_TOKEN", TOKEN)
    done = run("hf:org/closed")
    assert done.status == 0, done.err
    assert {one.token for one in hub.find_requests("/resolve/")} == {TOKEN}
    assert {one.token for one in hub.find_requests("GET /content/")} == {None}, "not sent to another host"
    written = [path.read_bytes() for path in (folder / "runs").rglob("*") if path.is_file()]
    assert all(TOKEN.encode() not in content for content in written)
    assert TOKEN not in done.out + done.err


# --- the page ---


def test_the_commands_of_the_page_work(
    hub: HubServer, folder: Path, here: pytest.MonkeyPatch, tiny: dict[str, Content]
) -> None:
    section = PAGE.read_text("utf-8").split("### Models from the hub\n")[1].split("\n### ")[0]
    commands = re.findall(r"^assay (.+)$", section, re.M)
    assert len(commands) == 4
    hub.add_model("HuggingFaceTB/SmolLM2-135M-Instruct", tiny).tag("v1")
    shown = []
    for command in commands:
        arguments = [*command.split(), *(("--max-tokens", "4") if command.startswith("run") else ())]
        if "--offline" in arguments:
            done = run_outside(hub, folder, *arguments[arguments.index("-m") + 1 :])
        else:
            done = assay(*arguments)
        assert done.status == 0, done.err
        shown += [line for line in done.err.splitlines() if line.startswith("Downloading")]
    written = re.findall(r"^Downloading .+$", section, re.M)
    sizes = re.compile(r"[\d.]+ [kMG]?B|\d+ files?|to .+")
    assert [sizes.sub("#", line) for line in shown] == [sizes.sub("#", line) for line in written]


# --- real models ---


@pytest.mark.model
@pytest.mark.slow
def test_smollm2_from_the_hub_answers_as_the_embedded_one_does(
    hub: HubServer, folder: Path, here: pytest.MonkeyPatch
) -> None:
    name = "HuggingFaceTB/SmolLM2-135M-Instruct"
    here.delenv("ASSAY_CACHE")
    unpacked = EmbeddedFiles().prepare_path()
    hub.add_model(name, {path.name: path for path in unpacked.iterdir()})
    for model, out in ((f"hf:{name}", "runs/hub"), ("smollm2", "runs/embedded")):
        done = run(model, "--method", "ppl,gen", "--limit", "1", "--no-cache", "--out", out)
        assert done.status == 0, done.err
    answers = []
    for out in ("hub", "embedded"):
        lines = (folder / "runs" / out / "responses.jsonl").read_text("utf-8").splitlines()
        found = [json.loads(line) for line in lines]
        answers.append({one["request_id"]: one["outcome"] for one in found})
    assert len(answers[0]) >= 3
    assert answers[0] == answers[1]


@pytest.mark.model
@pytest.mark.slow
def test_a_gguf_repository_lists_its_files_and_one_of_them_runs(
    hub: HubServer, folder: Path, here: pytest.MonkeyPatch
) -> None:
    packed = EmbeddedFiles().path
    others: dict[str, Content] = {"mmproj-model.gguf": b"a part that sees", "README.md": "GGUF"}
    commit = hub.add_model("org/tiny-gguf", {packed.name: packed, **others}).head.sha
    several = run("hf:org/tiny-gguf")
    assert (several.status, "MODEL-018" in several.err) == (2, True), several.err
    assert f"has only GGUF files: '{packed.name}' (" in words(several.err)
    assert f"choose one of them: hf:org/tiny-gguf/{packed.name}" in words(several.err)
    done = run(f"hf:org/tiny-gguf/{packed.name}@main", "--limit", "1")
    assert done.status == 0, done.err
    model = manifests(folder)[0]["model"]
    assert (model["weights"], model["revision"]) == (f"org/tiny-gguf/{packed.name}@{commit}", "main")
