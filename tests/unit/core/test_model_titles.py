"""Names of models for tables: without addresses, and equal for one model on several servers."""

from __future__ import annotations

import pytest

from assay.core.model import ModelIdentity


@pytest.mark.parametrize(
    ("model", "title"),
    [
        (ModelIdentity("mock", "mock"), "mock"),
        (ModelIdentity("hf", "hf:org/name@main"), "hf:org/name@main"),
        (ModelIdentity("hf", "hf:org/name@https"), "hf:org/name@https"),
        (ModelIdentity("openai", "openai:m@http://127.0.0.1:80/v1"), "openai:m"),
        (ModelIdentity("openai", "openai:m@https://name:(hidden)@host/v1"), "openai:m"),
        (ModelIdentity("openai", "openai:@http://host/v1", args={"model": "found"}), "openai:found"),
        (ModelIdentity("ultraeval", "ultraeval:http://host/infer"), "ultraeval"),
        (ModelIdentity("ultraeval", "ultraeval:http://host/infer", args={"model": "q"}), "ultraeval:q"),
        (ModelIdentity("tgi", "tgi:@http://host", reported={"model_id": "org/m"}), "tgi:org/m"),
    ],
)
def test_a_title_has_no_address(model: ModelIdentity, title: str) -> None:
    assert model.title == title


def test_a_model_has_one_key_on_all_servers_if_it_is_known() -> None:
    one = ModelIdentity("openai", "openai:m@http://a/v1", server="named")
    other = ModelIdentity("openai", "openai:m@http://b/v1", server="named")
    assert one.key == other.key
    assert one.digest != other.digest, "the cache of one server is not that of another"
    reports = ModelIdentity("openai", "openai:m@http://b/v1", server="reports", reported={"root": "tuned"})
    assert reports.key != one.key, "the servers report different models"
    unknown = [
        ModelIdentity("ultraeval", f"ultraeval:http://{host}/infer", server="unknown") for host in "ab"
    ]
    assert unknown[0].key != unknown[1].key
