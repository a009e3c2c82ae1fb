"""The test hub answers the real clients, `huggingface_hub` and `datasets`, as the real hub does."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from fakes.hub_server import HubServer, User, broken_after, hub_on_loopback, rate_limited, status

_CARD = """---
configs:
- config_name: main
  data_files:
  - {split: train, path: main/train-*}
  - {split: test, path: main/test-*}
- config_name: short
  data_files: short/*.parquet
---
# Sums
"""


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with hub_on_loopback() as server:
        server.users["hf_reader"] = User("reader", ("closed/sums",))
        server.users["hf_stranger"] = User("stranger")
        yield server


def _parquet(n: int) -> bytes:
    rows = [{"question": f"{i} + {i} =", "answer": str(2 * i)} for i in range(n)]
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), stream)
    return stream.getvalue()


def _files() -> dict[str, Any]:
    return {
        "README.md": _CARD,
        "main/train-00000-of-00001.parquet": _parquet(9),
        "main/test-00000-of-00001.parquet": _parquet(7),
        "short/train.parquet": _parquet(1),
    }


def _client(hub: HubServer, home: Path, code: str, **variables: str) -> Any:
    """Run code of a client in a process of its own; return what it prints as JSON last."""
    environment = {**os.environ, **hub.environment(home), **variables}
    done = subprocess.run(
        [sys.executable, "-c", f"import datasets, json\nfrom huggingface_hub import *\n{code}"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_datasets_loads_a_config_and_split_of_a_commit_and_again_without_the_hub(
    hub: HubServer, tmp_path: Path
) -> None:
    hub.add_dataset("org/sums", _files())
    code = """
info = HfApi().dataset_info("org/sums")
rows = datasets.load_dataset("org/sums", "main", split="test", revision=info.sha).to_list()
short = datasets.load_dataset("org/sums", "short", split="train", revision=info.sha).to_list()
print(json.dumps([info.sha, rows, short]))
"""
    sha, rows, short = _client(hub, tmp_path, code)
    assert sha == hub.repositories["dataset", "org/sums"].head.sha
    assert rows[3] == {"question": "3 + 3 =", "answer": "6"}
    assert (len(rows), len(short)) == (7, 1)
    assert [one.method for one in hub.find_requests(f"/resolve/{sha}/main/test-")] == ["HEAD"]
    assert hub.find_requests("GET /content/")
    hub.log.clear()
    offline = 'print(len(datasets.load_dataset("org/sums", "main", split="test")))'
    assert _client(hub, tmp_path, offline, HF_HUB_OFFLINE="1") == 7
    assert hub.log == []


@pytest.mark.parametrize("without_xet", ["0", "1"])
def test_a_snapshot_holds_every_file_and_resumes_where_a_connection_broke(
    hub: HubServer, tmp_path: Path, without_xet: str
) -> None:
    content = bytes(range(256)) * 80_000  # the client keeps pieces of 10 MiB
    hub.add_model("org/model", {"config.json": '{"model_type": "llama"}', "model.gguf": content})
    hub.faults["GET /content/"] = [broken_after(11_000_000)]
    code = """
folder = snapshot_download("org/model")
print(json.dumps({p.name: p.stat().st_size for p in __import__("pathlib").Path(folder).iterdir()}))
"""
    sizes = _client(hub, tmp_path, code, HF_HUB_DISABLE_XET=without_xet)
    assert sizes == {".gitattributes": 21, "config.json": 23, "model.gguf": len(content)}
    first, second = hub.find_requests("GET /content/")
    assert first.range is None
    assert second.range == f"bytes={10 << 20}-"


def test_errors_are_the_clients_own(hub: HubServer, tmp_path: Path) -> None:
    hub.add_dataset("org/sums", _files())
    hub.add_dataset("closed/sums", _files(), gated="manual")
    hub.faults["GET /api/datasets/busy/"] = [rate_limited()]
    hub.faults["GET /api/datasets/ill/"] = [status(503)]
    code = """
api, said = HfApi(), []
for call in (
    lambda: api.dataset_info("org/nothing"),
    lambda: api.dataset_info("org/nothing", token="hf_reader"),
    lambda: api.dataset_info("org/sums", revision="v9"),
    lambda: api.hf_hub_download("org/sums", "none.txt", repo_type="dataset"),
    lambda: api.hf_hub_download("closed/sums", "README.md", repo_type="dataset"),
    lambda: api.hf_hub_download("closed/sums", "README.md", repo_type="dataset", token="hf_stranger"),
    lambda: api.hf_hub_download("closed/sums", "README.md", repo_type="dataset", token="hf_reader"),
    lambda: api.dataset_info("busy/sums"),
    lambda: api.dataset_info("ill/sums"),
):
    try:
        call()
        said.append(None)
    except Exception as error:
        said.append([type(error).__name__, error.response.status_code])
print(json.dumps(said))
"""
    assert _client(hub, tmp_path, code) == [
        ["RepositoryNotFoundError", 401],
        ["RepositoryNotFoundError", 404],
        ["RevisionNotFoundError", 404],
        ["RemoteEntryNotFoundError", 404],
        ["GatedRepoError", 401],
        ["GatedRepoError", 403],
        None,
        ["HfHubHTTPError", 429],
        ["HfHubHTTPError", 503],
    ]


def test_what_the_clients_ask_about_a_repository(hub: HubServer, tmp_path: Path) -> None:
    repository = hub.add_dataset("org/sums", _files(), downloads=5)
    repository.tag("v1")
    first = repository.head.sha
    second = repository.commit({"more/a/b.csv": "a,b\n1,2\n"})
    hub.add_dataset("other/sums-of-products", _files(), downloads=9)
    hub.move("sums", "org/sums")
    hub.page_size = 3
    code = """
api = HfApi(token="hf_reader")
refs = api.list_repo_refs("org/sums", repo_type="dataset")
info = api.dataset_info("sums", files_metadata=True)
tree = api.list_repo_tree("org/sums", recursive=True, expand=True, repo_type="dataset")
paths = api.get_paths_info("org/sums", ["README.md", "main", "none"], repo_type="dataset")
print(json.dumps([
    api.whoami()["name"], [one.target_commit for one in (*refs.branches, *refs.tags)], info.id,
    sorted(one.rfilename for one in info.siblings if one.lfs), [one.path for one in tree],
    [one.path for one in paths], [one.id for one in api.list_datasets(search="sums")],
    api.dataset_info("org/sums", revision="v1").sha, info.card_data.to_dict()["configs"][0]["config_name"],
    [one.commit_id for one in api.list_repo_commits("org/sums", repo_type="dataset")],
]))
"""
    message = _client(hub, tmp_path, code)
    assert message[:4] == ["reader", [second, first], "org/sums", sorted(n for n in _files() if "/" in n)]
    assert message[4] == sorted(
        [*_files(), ".gitattributes", "main", "short", "more", "more/a", "more/a/b.csv"]
    )
    assert message[5:] == [
        ["README.md", "main"],
        ["other/sums-of-products", "org/sums"],
        first,
        "main",
        [second, first],
    ]
