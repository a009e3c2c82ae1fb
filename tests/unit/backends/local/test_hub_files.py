from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.app.bench_items import SYNTHETIC, ItemSettings, load_items
from assay.app.worker import WorkerSetup
from assay.backends.local.adapter_files import find_adapter
from assay.backends.local.hub_files import HubFiles, HubGgufFiles, HubName, read_hub_name
from assay.backends.local.hub_selection import select_small, select_weights
from assay.backends.local.model_files import GgufFiles
from assay.backends.local.model_search import find_files, find_tokenizer
from assay.backends.registry import open_backend
from assay.bench.lengths import ConstantLength
from assay.core.download import Download
from assay.core.download_listeners import reporting_downloads
from assay.core.errors import BackendError
from assay.core.model import ModelIdentity
from assay.hub.repository import RepositoryFile
from fakes.hub_here import hub_here
from fakes.hub_repositories import Content
from fakes.hub_server import HubServer, hub_on_loopback, status
from fakes.tiny_models import tiny_tokenizer

pytest.importorskip("huggingface_hub")


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubServer]:
    with hub_on_loopback() as server, hub_here(server, tmp_path / "hf") as patch:
        patch.chdir(tmp_path)
        yield server


def small_files(**config: object) -> dict[str, Content]:
    return {
        "config.json": json.dumps({"model_type": "llama", "max_position_embeddings": 77, **config}),
        "tokenizer.json": "{}",
        "model.safetensors": b"weights",
    }


def listed(*paths: str) -> dict[str, RepositoryFile]:
    return {path: RepositoryFile(path, 10) for path in paths}


# --- names ---


@pytest.mark.parametrize(
    ("where", "name"),
    [
        ("org/name", HubName("org/name", None, None)),
        ("org/na.me-1_x@v1.0", HubName("org/na.me-1_x", None, "v1.0")),
        ("org/name@refs/pr/3", HubName("org/name", None, "refs/pr/3")),
        ("org/name/sub/m-Q4.gguf@main", HubName("org/name", "sub/m-Q4.gguf", "main")),
        ("https://huggingface.co/org/name", HubName("org/name", None, None)),
        ("https://huggingface.co/org/name/", HubName("org/name", None, None)),
        ("hf://org/name@main", HubName("org/name", None, "main")),
        ("name", None),
        ("org/name/deeper", None),
        ("./org/name", None),
        ("~/name", None),
        ("/org/name", None),
        ("http://elsewhere/org/name", None),
    ],
)
def test_names_of_repositories_are_read(where: str, name: HubName | None) -> None:
    assert read_hub_name(where) == name


def test_paths_on_this_machine_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert isinstance(find_files("org/name", "v1"), HubFiles)
    assert isinstance(find_files("org/name/m.gguf", None), HubGgufFiles)
    (tmp_path / "org" / "name").mkdir(parents=True)
    (tmp_path / "org" / "name" / "m.gguf").write_bytes(b"GGUF")
    assert isinstance(find_files("org/name/m.gguf", None), GgufFiles)
    with pytest.raises(BackendError, match=r"MODEL-003.*no config\.json"):
        find_files("org/name", None)
    with pytest.raises(BackendError, match=r"MODEL-003.*there is no GGUF file org/name/other\.gguf"):
        find_files("org/name/other.gguf", None)
    with pytest.raises(BackendError, match=r"MODEL-003.*ORG/NAME of a repository on the hub: hf:ORG/gpt2"):
        find_files("gpt2", None)
    for path in ("./org/nome", "/org/name", "~/org-name"):
        with pytest.raises(BackendError, match="MODEL-003"):
            find_files(path, None)


# --- files ---


def test_safetensors_come_before_pickles_and_one_file_before_its_parts() -> None:
    safe, pickled = "model.safetensors", "pytorch_model.bin"
    parts = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
    part = "pytorch_model-00001-of-00001.bin"
    cases: list[tuple[tuple[str, ...], tuple[str, ...], str | None]] = [
        ((safe, pickled, *parts, f"{safe}.index.json"), (safe,), None),
        ((pickled, *parts, f"{safe}.index.json"), parts, f"{safe}.index.json"),
        ((pickled, *parts), (pickled,), None),
        ((f"{pickled}.index.json", part), (part,), f"{pickled}.index.json"),
    ]
    for paths, chosen, index in cases:
        weights = select_weights(listed(*paths))
        assert weights is not None
        assert (tuple(file.path for file in weights.files), weights.index_file) == (chosen, index)
        assert weights.is_pickle is chosen[0].endswith(".bin")
    for other in ("consolidated.safetensors", "original/model.safetensors", "model.fp16.safetensors"):
        assert select_weights(listed(other)) is None


def test_small_files_are_settings_tokenizers_and_templates_alone() -> None:
    wanted = {
        *(
            "config.json",
            "generation_config.json",
            "tokenizer.json",
            "vocab.json",
            "merges.txt",
            "tokenizer.model",
        ),
        *(
            "chat_template.jinja",
            "additional_chat_templates/tools.jinja",
            "preprocessor_config.json",
            "a.tiktoken",
        ),
    }
    other = {
        *(
            "README.md",
            "LICENSE.txt",
            "onnx/config.json",
            "trainer_state.json",
            "pytorch_model.bin.index.json",
        ),
        *("modeling.py", "model.safetensors", "img.png"),
    }
    files = listed(*wanted, *other) | {"rows.json": RepositoryFile("rows.json", 10**9)}
    assert {file.path for file in select_small(files, with_code=False)} == wanted
    assert {file.path for file in select_small(files, with_code=True)} == wanted | {
        "modeling.py",
        "LICENSE.txt",
    }


def test_card_and_identity_need_no_weights_and_a_finished_download_is_reported_once(hub: HubServer) -> None:
    commit = hub.add_model("org/name", small_files()).head.sha
    heard: list[Download] = []
    with reporting_downloads(heard.append):
        backend = open_backend("hf:org/name", {"dtype": "float32"})
        assert backend.card.context_length == 77
        identity = backend.identity()
    assert (identity.weights, identity.revision, identity.commit) == (f"org/name@{commit}", "main", commit)
    assert hub.find_requests("model.safetensors") == []
    assert heard[0].state == "begun"
    assert heard[-1].state == "finished"
    assert (heard[0].n_files, heard[0].n_done, heard[0].later) == (2, 0, 7)
    assert (
        find_files("org/name", None).prepare_path().joinpath("model.safetensors").read_bytes() == b"weights"
    )


def test_the_revision_that_was_asked_for_decides_no_answer() -> None:
    one, other = (ModelIdentity("hf", "hf:a/b", weights="a/b@123", revision=name) for name in ("main", "v1"))
    assert one.digest == other.digest
    assert ModelIdentity("hf", "hf:a/b", weights="0123").commit is None


@pytest.mark.parametrize("name", ["hf:org/name", "hf:org/name@main"])
def test_a_worker_opens_the_commit_that_the_run_resolved(hub: HubServer, name: str) -> None:
    repository = hub.add_model("org/name", small_files())
    first = open_backend(name, {"dtype": "float32"}).identity()
    repository.commit({"config.json": json.dumps({"model_type": "llama", "max_position_embeddings": 5})})
    there = WorkerSetup(name, {"dtype": "float32"}, commit=first.commit).open()
    assert there.identity() == first
    assert there.card.context_length == 77
    assert open_backend(name, {"dtype": "float32"}).card.context_length == 5


def test_a_folder_that_the_hubs_own_client_filled_is_used_as_it_is(hub: HubServer) -> None:
    import huggingface_hub

    hub.add_model("org/name", small_files())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["huggingface_hub.utils.tqdm"], "HF_HUB_DISABLE_PROGRESS_BARS", True)
        folder = huggingface_hub.snapshot_download("org/name")
    hub.log.clear()
    assert find_files("org/name", None).prepare_path() == Path(folder)
    assert [one.path for one in hub.log] == ["/api/models/org/name/revision/main"]
    # And the other way round: the client finds what Assay downloaded.
    hub.add_model("org/other", small_files())
    mine = find_files("org/other", None).prepare_path()
    theirs = huggingface_hub.hf_hub_download("org/other", "model.safetensors", local_files_only=True)
    assert Path(theirs) == mine / "model.safetensors"


def test_a_commit_that_is_not_all_here_does_not_replace_a_complete_one_offline(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = hub.add_model("org/name", small_files())
    old = repository.head.sha
    find_files("org/name", None).prepare_path()
    repository.commit(
        {"model.safetensors": b"newer weights", "config.json": '{"max_position_embeddings": 5}'}
    )
    assert find_files("org/name", None).context_length == 5, "only the small files are downloaded"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    held = find_files("org/name", None)
    assert held.weights() == f"org/name@{old}"
    assert (held.prepare_path() / "model.safetensors").read_bytes() == b"weights"


def test_a_hub_that_fails_once_is_asked_again(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.hub.repository._RETRY_WAITS_S", (0.0, 0.0))
    hub.add_model("org/name", small_files())
    hub.faults["/api/models/org/name"] = [status(502), status(503)]
    assert find_files("org/name", None).context_length == 77


# --- adapters and tokenizers ---


def test_an_adapter_on_the_hub_is_one_commit_with_its_safe_weights(hub: HubServer) -> None:
    header = json.dumps({"base.q_proj.lora_A.weight": {"dtype": "F32", "shape": [0]}}).encode()
    weights = struct.pack("<Q", len(header)) + header
    files: dict[str, Content] = {
        "adapter_config.json": '{"r": 4}',
        "adapter_model.safetensors": weights,
        "adapter_model.bin": b"pickle",
        "tokenizer.json": "{}",
    }
    repository = hub.add_model("org/adapter", files)
    first = find_adapter("org/adapter")
    assert (first.rank, first.modules, first.weights.name) == (4, ["q_proj"], "adapter_model.safetensors")
    repository.commit({"adapter_config.json": '{"r": 8}'})
    assert find_adapter("org/adapter").digest == first.digest
    assert {one.path.rpartition("/")[2] for one in hub.find_requests("/resolve/")} == {
        "adapter_config.json",
        "adapter_model.safetensors",
    }
    hub.add_model("org/model", small_files())
    with pytest.raises(BackendError, match=r"MODEL-018.*org/model is not an adapter"):
        find_adapter("org/model")


def test_a_benchmark_counts_by_the_tokenizer_of_a_hub_model_and_records_its_commit(
    hub: HubServer, tmp_path: Path
) -> None:
    tiny_tokenizer(adds_bos=False, chat=False).save_pretrained(tmp_path / "own")
    commit = hub.add_model(
        "org/name", {**small_files(), "tokenizer.json": tmp_path / "own" / "tokenizer.json"}
    ).head.sha
    for name in ("org/name", "hf:org/name@main"):
        items = load_items(
            SYNTHETIC, ItemSettings(n=2, input=ConstantLength(20), output=ConstantLength(5), tokenizer=name)
        )
        assert items.describes["tokenizer"] == f"hf:org/name@{commit}"
        assert [item.n_prompt_tokens for item in items] == [20, 20]
    assert {one.path.rpartition("/")[2] for one in hub.find_requests("/resolve/")} == {"tokenizer.json"}
    (tmp_path / "org" / "name").mkdir(parents=True)
    assert find_tokenizer("org/name") is None
    hub.add_model("org/none", {"config.json": "{}"})
    with pytest.raises(BackendError, match=r"MODEL-018.*org/none has no tokenizer\.json"):
        load_items(SYNTHETIC, ItemSettings(tokenizer="org/none"))
