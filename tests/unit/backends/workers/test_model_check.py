"""The model that a worker loaded, and the error if it differs."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from assay.backends.registry import open_backend
from assay.backends.vllm import backend
from assay.backends.workers.model_check import (
    OpenedModel,
    VersionDifferences,
    describe_opened_model,
    find_model_difference,
)
from assay.core.model import ModelIdentity

SHARDS = {"a.safetensors": "aa" * 16, "b.safetensors": "bb" * 16, "tokenizer.json": "cc" * 16}
OURS = OpenedModel(
    ModelIdentity("hf", "hf:/models/x", "00" * 16, "float32", "11" * 16, {"attn": "eager"}), SHARDS
)


def other(files: dict[str, str], **fields: object) -> OpenedModel:
    return OpenedModel(msgspec.structs.replace(OURS.identity, **fields), files)


def describe_difference(theirs: OpenedModel, ours: OpenedModel = OURS) -> str:
    error = find_model_difference(ours, theirs, "node2 (10.0.0.2)")
    assert error is not None
    (problem,) = error.problems
    assert problem.code == "WORKER-009"
    assert problem.what.startswith("a worker on node2 (10.0.0.2) has another model under hf:")
    return f"{problem.what}. {problem.fix}"


def test_the_same_model_is_no_trouble_whatever_computes_it() -> None:
    assert find_model_difference(OURS, OURS, "n") is None
    assert find_model_difference(OURS, msgspec.structs.replace(OURS, versions={"torch": "1"}), "n") is None


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {**SHARDS, "b.safetensors": "dd" * 16},
            "x than the run: b.safetensors is dddddddddddd, in the run bbbbbbbbbbbb. ",
        ),
        ({**SHARDS, "new.json": "ee" * 16}, "x than the run: new.json is eeeeeeeeeeee, in the run missing. "),
        ({"a.safetensors": "aa" * 16}, "b.safetensors is missing, in the run bbbbbbbbbbbb; tokenizer.json"),
        ({f"{n}": "ff" * 16 for n in range(20)}, "; and 18 more. "),
    ],
    ids=["other", "more", "fewer", "many"],
)
def test_files_that_differ_are_named(files: dict[str, str], message: str) -> None:
    text = describe_difference(other(files, weights="99" * 16))
    assert message in text
    assert "weights is" not in text
    assert "put the same files on every node" in text
    assert "finished requests are kept" in text


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dtype": "bfloat16"}, "dtype is bfloat16, in the run float32"),
        ({"template": ""}, "the chat template is missing, in the run 111111111111"),
        ({"args": {}}, "attn is missing, in the run eager"),
        ({"args": {"attn": "eager", "lora": "22" * 16}}, "lora is 222222222222, in the run missing"),
        ({"backend": "vllm"}, "backend is vllm, in the run hf"),
    ],
)
def test_fields_that_differ_are_named(fields: dict[str, object], message: str) -> None:
    assert message in describe_difference(other(SHARDS, **fields))


def test_of_a_repository_the_revision_is_reported() -> None:
    ours = OpenedModel(ModelIdentity("hf", "hf:org/name", "org/name@0123abc"))
    text = describe_difference(OpenedModel(ModelIdentity("hf", "hf:org/name", "org/name@456def")), ours)
    assert "weights is org/name@456def, in the run org/name@0123abc" in text
    assert "--model-arg revision=0123abc" in text
    # A folder of that name on a node goes before the hub.
    text = describe_difference(OpenedModel(ModelIdentity("hf", "hf:org/name", "33" * 16), SHARDS), ours)
    assert "weights is 333333333333, in the run org/name@0123abc" in text
    assert "safetensors" not in text


def folder(at: Path) -> Path:
    at.mkdir()
    (at / "config.json").write_text(json.dumps({"torch_dtype": "bfloat16"}))
    (at / "model.safetensors").write_bytes(b"weights")
    (at / "tokenizer.json").write_text("{}")
    return at


def test_what_is_opened_is_reported_with_its_files_and_the_packages_that_compute_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(backend, "require_packages", lambda *_, **__: None)
    monkeypatch.setattr("assay.backends.hf.backend.require_packages", lambda *_, **__: None)
    monkeypatch.setattr("assay.backends.package_versions.metadata.version", lambda package: f"{package} 1")
    for kind, packages in (("hf", set[str]()), ("vllm", {"vllm"})):
        model = open_backend(f"{kind}:{folder(tmp_path / kind)}", {"dtype": "float16"})
        found = describe_opened_model(model)
        assert found.identity == model.identity()
        assert found.files.keys() == {"config.json", "model.safetensors", "tokenizer.json"}
        assert found.versions.keys() == {"python", "torch", "transformers", "tokenizers"} | packages
        # It goes over the wire.
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(found), type=OpenedModel) == found


def test_a_model_without_files_has_none() -> None:
    found = describe_opened_model(open_backend("mock", {"answer": "A"}))
    assert found.identity == ModelIdentity("mock", "mock", args={"answer": "A"})
    assert found.files == {}
    assert found.versions.keys() == {"python"}


def test_other_versions_are_reported_once_with_the_nodes_that_have_them() -> None:
    versions = VersionDifferences()
    ours = {"python": "3.11.2", "torch": "2.13.0"}
    for n in range(7):
        versions.take(f"node{n}", {"python": "3.11.2", "torch": "2.13.0" if n == 0 else "2.12.0"})
    versions.take("node1", {"python": "3.11.2", "torch": "2.12.0", "vllm": "0.32"})
    first, second = versions.notes(ours)
    assert first.startswith(
        "torch is 2.12.0 on node1, node2, node3, node4, node5 and 1 more, "
        "but 2.13.0 where the run was started"
    )
    assert second.startswith("vllm is 0.32 on node1, but missing where")
    assert VersionDifferences().notes(ours) == []
