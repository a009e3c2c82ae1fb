"""Names of datasets on the hub, and what is no such name."""

from __future__ import annotations

import pytest

from assay.sources.hub_name import HubName, is_address, parse_hub_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("openai/gsm8k", HubName("openai/gsm8k")),
        ("cais/mmlu:anatomy,astronomy", HubName("cais/mmlu", "anatomy,astronomy")),
        ("org/name:con fig@v1.0#test", HubName("org/name", "con fig", "v1.0", "test")),
        ("org/name@refs/convert/parquet", HubName("org/name", revision="refs/convert/parquet")),
        ("hf://gsm8k", HubName("gsm8k")),
        ("hf://org/data.csv", HubName("org/data.csv")),
        ("hf://datasets/org/name@main", HubName("org/name", revision="main")),
        ("https://huggingface.co/datasets/openai/gsm8k/viewer/main", HubName("openai/gsm8k")),
        ("https://huggingface.co/datasets/openai/gsm8k", HubName("openai/gsm8k")),
    ],
)
def test_a_name(text: str, name: HubName) -> None:
    assert parse_hub_name(text) == name


@pytest.mark.parametrize(
    "text",
    [
        "gsm8k",
        "data.csv",
        "folder/data.jsonl",
        "folder/data.csv.gz",
        "folder/config.py",
        "./folder/name",
        "/folder/name",
        "../name",
        "a/../b",
        "a/b/c",
        "~/name",
        "https://example.org/data.csv",
        "폴더/이름",
        "",
    ],
)
def test_what_is_no_name(text: str) -> None:
    assert parse_hub_name(text) is None


def test_a_name_is_written_as_it_was_read() -> None:
    name = HubName("org/name", "main", "f" * 40, "test")
    assert str(name) == f"hf://org/name:main@{'f' * 40}#test"
    assert parse_hub_name(str(name)) == name
    assert name.is_pinned
    assert not name._replace(revision="v1").is_pinned
    assert is_address(str(name))
    assert not is_address("org/name")
