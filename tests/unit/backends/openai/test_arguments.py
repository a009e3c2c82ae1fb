"""Settings of a model behind an OpenAI-compatible address."""

from __future__ import annotations

from typing import Any

import pytest

from assay.backends.openai.arguments import read_key, read_openai_settings
from assay.backends.registry import open_backend
from assay.core.errors import BackendError
from fakes.openai_server import serving

URL = "openai:m@http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("3", 3),
        ("0.5", 0.5),
        ("null", None),
        ('{"enable_thinking": false}', {"enable_thinking": False}),
        ("[1, 2]", [1, 2]),
        ('"true"', "true"),
        ("low", "low"),
        ("", ""),
        ("NaN", "NaN"),
    ],
)
def test_extra_fields_have_the_type_they_look_like(text: str, value: Any) -> None:
    assert read_openai_settings({"extra.field": text}).fields == {"field": value}


def test_decoding_fields_are_sent_as_they_are_written() -> None:
    asked = read_openai_settings({"decoding": '{"temperature": 0, "seed": null, "ignore_eos": false}'})
    assert asked.fields == {"temperature": 0, "seed": None, "ignore_eos": False}
    assert asked.extra == {"ignore_eos": False}, "likelihoods are asked for without temperature and seed"
    assert asked.collect_identity_args() != read_openai_settings({"decoding": "{}"}).collect_identity_args()
    assert (
        read_openai_settings({}).collect_identity_args()
        != read_openai_settings({"decoding": "{}"}).collect_identity_args()
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "not a JSON object"),
        ('{"model": "x"}', "'model'"),
        ('{"api_key": "x"}', "looks like a secret"),
        ('{"temperature": -1}', "temperature"),
    ],
)
def test_wrong_decoding_fields(text: str, message: str) -> None:
    with pytest.raises(BackendError, match="MODEL-002") as caught:
        read_openai_settings({"decoding": text})
    assert message in str(caught.value)


def test_named_fields_are_typed() -> None:
    fields = read_openai_settings({"top_k": "5", "min_p": "0.1", "extra.ignore_eos": "true"}).fields
    assert fields == {"top_k": 5, "min_p": 0.1, "ignore_eos": True}


@pytest.mark.parametrize(
    ("arg", "message"),
    [
        ("extra.temperature=1", "--temperature"),
        ("extra.model=x", "openai:MODEL@URL"),
        ("extra.stream=true", "stream=true"),
        ("extra.top_k=4", "write top_k=4"),
        ("extra.=4", "names no field"),
        ("extra.api_key=sk-1", "key_env=NAME"),
        ("omit=temprature", "did you mean 'temperature'"),
        ("omit=model", "cannot be omitted"),
        ("api=responses", "'chat', 'completions'"),
        ("concurrency=0", "concurrency"),
        ("n_per_call=0", "n_per_call"),
        ("timeout_s=0", "timeout_s"),
        ("retries=-1", "retries"),
        ("retry_wait_s=-1", "retry_wait_s"),
        ("top_k=many", "top_k"),
        ("streem=true", "did you mean 'stream'"),
    ],
)
def test_wrong_arguments(arg: str, message: str) -> None:
    name, _, value = arg.partition("=")
    with pytest.raises(BackendError, match="MODEL-002") as caught:
        open_backend(URL, {name: value})
    assert message in str(caught.value)
    assert "sk-1" not in str(caught.value)


def test_who_it_is() -> None:
    with serving() as server, serving() as other:
        url = f"openai:m@{server.url}"
        plain = open_backend(url, {}).identity()
        assert (plain.backend, plain.name) == ("openai", url)
        assert open_backend(f"{url}/", {}).identity() == plain
        how = {"stream": "true", "concurrency": "3", "timeout_s": "5", "retries": "1"}
        assert open_backend(url, how).identity() == plain, "how it is asked does not change who it is"
        others = [
            open_backend(url, args).identity()
            for args in (
                {"top_k": "5"},
                {"extra.ignore_eos": "true"},
                {"extra.ignore_eos": "false"},
                {"extra.chat_template_kwargs": '{"a": 1}'},
                {"omit": "temperature"},
                {"api": "chat"},
                {"n_per_call": "4"},
                {"max_tokens_name": "max_completion_tokens"},
            )
        ]
        others.append(open_backend(f"openai:m@{other.url}", {}).identity())
        others.append(open_backend(f"openai:other@{server.url}", {}).identity())
    assert len({one.digest for one in [plain, *others]}) == len(others) + 1


@pytest.mark.parametrize(
    "where",
    [
        "",
        "m",
        "http://127.0.0.1:1/v1",
        "m@127.0.0.1:1/v1",
        "m@ftp://host/v1",
        "m@http://",
        "m@http://host:99999/v1",
        "m@http://host/v1?key=secret",
        "m@http://host/v1#secret",
        "m@http://host/v1/chat/completions",
        "m@http://me:secret@host/v1",
        "m@http://me:secret@:99999/v1",
        "m@http://me:se/cr@secret@:99999/v1",
        "m@http://me:secret@ho st/v1",
    ],
)
def test_an_address_must_be_whole_and_hold_no_secret(where: str) -> None:
    with pytest.raises(BackendError, match=r"MODEL-001") as caught:
        open_backend(f"openai:{where}", {})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("model", ["qwen2.5:7b", "org/name", "a@b", "", "models/x.gguf"])
def test_a_model_may_have_any_name(model: str) -> None:
    assert open_backend(f"openai:{model}@https://host/v1", {}).card.name == f"openai:{model}@https://host/v1"


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert read_key(read_openai_settings({}).args) is None
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one\n")
    assert read_key(read_openai_settings({}).args) == "sk-one"
    monkeypatch.setenv("OTHER_KEY", "sk-two")
    assert read_key(read_openai_settings({"key_env": "OTHER_KEY"}).args) == "sk-two"


@pytest.mark.parametrize("named", ["sk-secret", "gsk_secret", "secret secret"])
def test_a_key_in_place_of_its_variable_is_not_repeated(named: str) -> None:
    with pytest.raises(BackendError, match=r"MODEL-009.*key_env") as caught:
        open_backend(URL, {"key_env": named})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel"])
def test_what_is_no_key_is_not_sent_and_not_repeated(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(BackendError, match="MODEL-009") as caught:
        open_backend(URL, {})
    assert key not in str(caught.value)


@pytest.mark.parametrize("model", ["opneai:m@http://me:secret@host/v1", "http://me:secret@host/v1"])
def test_a_mistyped_backend_does_not_repeat_a_password(model: str) -> None:
    with pytest.raises(BackendError, match=r"MODEL-001") as caught:
        open_backend(model, {})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("headers", '{"Authorization": "Bearer abc"}'),
        ("extra_body", '{"nested": [{"apiKey": "abc"}]}'),
        ("api_key", "abc"),
    ],
)
def test_a_secret_within_an_extra_field_is_rejected(name: str, value: str) -> None:
    with pytest.raises(BackendError, match=r"MODEL-002.*looks like a secret.*key_env=NAME") as caught:
        read_openai_settings({f"extra.{name}": value})
    assert "abc" not in str(caught.value)


def test_fields_that_only_sound_like_secrets_are_sent() -> None:
    asked = read_openai_settings(
        {"extra.max_thinking_tokens": "5", "extra.monkey": "true", "extra.top": '{"tokens": 3}'}
    )
    assert asked.extra == {"max_thinking_tokens": 5, "monkey": True, "top": {"tokens": 3}}
