from __future__ import annotations

from typing import Any

import pytest

from assay.backends.openai.model_report import read_report
from assay.backends.registry import open_backend
from fakes.openai_server import error, serving

VLLM = {
    "id": "m",
    "object": "model",
    "created": 1,
    "owned_by": "vllm",
    "root": "/models/a",
    "max_model_len": 9,
}
LLAMA_CPP = {"id": "b.gguf", "owned_by": "llamacpp", "created": 2, "meta": {"n_params": 7, "n_ctx": 4}}


@pytest.mark.parametrize(
    ("listed", "name", "expected"),
    [
        ({"data": [VLLM]}, "m", {"owned_by": "vllm", "root": "/models/a"}),
        ({"data": [{"id": "m"}]}, "m", {}),
        # A server of one model answers to any name.
        ({"data": [LLAMA_CPP]}, "m", {"id": "b.gguf", "owned_by": "llamacpp", "n_params": 7}),
        ({"data": [VLLM, LLAMA_CPP]}, "m", {"owned_by": "vllm", "root": "/models/a"}),
        ({"data": [{"id": "a"}, {"id": "b"}]}, "m", None),
        ({"data": []}, "m", None),
        ({"data": None}, "m", None),
        ({"data": ["m", {"id": 3}]}, "m", None),
        ([], "m", None),
        (None, "m", None),
        ({"data": [{"id": "m", "root": None, "parent": ["x"]}]}, "m", {}),
    ],
)
def test_a_list_of_models_says_as_much_as_identifies_one(
    listed: Any, name: str, expected: dict[str, Any] | None
) -> None:
    assert read_report(listed, name) == expected


def test_another_model_behind_the_same_name_is_another_identity() -> None:
    with serving(models={"data": [VLLM]}) as server:
        spec = f"openai:m@{server.url}"
        first = open_backend(spec, {}).identity()
        assert first == open_backend(spec, {}).identity()
        server.models = {"data": [VLLM | {"created": 5}]}
        assert open_backend(spec, {}).identity() == first, "a time stamp does not identify a model"
        server.models = {"data": [VLLM | {"root": "/models/b"}]}
        assert open_backend(spec, {}).identity().digest != first.digest


@pytest.mark.parametrize("listed", [error(500, "down"), error(404, "no"), {"models": []}])
def test_a_server_without_a_list_is_known_by_the_name_alone(listed: Any) -> None:
    with serving(models=listed) as server:
        identity = open_backend(f"openai:m@{server.url}", {}).identity()
    assert (identity.server, identity.reported) == ("named", {})
    # As in versions that did not ask: their caches and runs are found.
    assert identity.digest == identity.deciding.digest
