"""Models of configs: the setting of each field, and the notes on fields without an effect."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay.core.errors import AuthorError
from assay.dialects.openicl.model_presets import MODEL_PRESETS
from assay.dialects.openicl.models import ModelConfig, ModelSampling, read_models


def read(**entry: Any) -> ModelConfig:
    (found,) = read_models([entry], "config.py")
    return found


def problems(*entries: dict[str, Any]) -> list[str]:
    with pytest.raises(AuthorError) as raised:
        read_models(entries, "config.py")
    return [str(problem) for problem in raised.value.problems]


def service(**more: Any) -> dict[str, Any]:
    return {"type": "VLLMCustomAPIChat", "abbr": "m", **more}


@pytest.mark.parametrize(
    ("fields", "address"),
    [
        ({}, "http://localhost:8080/v1"),
        ({"host_ip": "10.0.0.7", "host_port": 9000}, "http://10.0.0.7:9000/v1"),
        ({"host_ip": "::1", "host_port": 1, "enable_ssl": True}, "https://[::1]:1/v1"),
        ({"url": "http://h:1/", "host_ip": "ignored"}, "http://h:1/v1"),
        ({"url": "h:1/prefix", "enable_ssl": True}, "https://h:1/prefix/v1"),
        ({"url": "https://h/v1/chat/completions"}, "https://h/v1"),
    ],
)
def test_the_address_of_a_service(fields: dict[str, Any], address: str) -> None:
    assert read(**service(model="qwen", **fields)).model == f"openai:qwen@{address}"


def test_the_fields_of_a_service() -> None:
    found = read(
        **service(
            attr="service",
            path="/tokenizer",
            model="",
            stream=True,
            retry=3,
            batch_size=32,
            max_out_len=512,
            request_rate=5,
            generation_kwargs={
                "temperature": 0.6,
                "top_p": 0.9,
                "top_k": 20,
                "seed": 7,
                "stop": ["\n"],
                "num_return_sequences": 4,
                "ignore_eos": False,
                "chat_template_kwargs": {"enable_thinking": False},
            },
            pred_postprocessor={"type": "extract_non_reasoning_content"},
        )
    )
    assert found.is_chat is True
    assert found.drawing == ModelSampling(0.6, 0.9, 7, 4, ("\n",))
    assert found.max_tokens == 512
    assert found.postprocessor == "extract_non_reasoning_content"
    assert found.model_args == {
        "concurrency": "32",
        "retries": "2",
        "stream": "true",
        "decoding": '{"temperature": 0.6, "top_p": 0.9, "top_k": 20, "seed": 7, "stop": ["\\n"], '
        '"ignore_eos": false, "chat_template_kwargs": {"enable_thinking": false}}',
    }
    assert '"num_return_sequences": 4' in found.faithful_args["decoding"], "as the original sends it"
    assert found.faithful_args["retry_statuses"] == "false"
    assert found.notes == ("request_rate: no effect",)


def test_a_model_of_openai_s_own_class() -> None:
    found = read(
        type="OpenAI",
        abbr="gpt",
        path="gpt-4o",
        key="ENV",
        openai_api_base="https://api.openai.com/v1/chat/completions",
        meta_template={"round": [{"role": "HUMAN", "api_role": "HUMAN"}]},
        query_per_second=1,
        retry=2,
        temperature=0.2,
        extra_body={"reasoning_effort": "low"},
    )
    assert (found.model, found.secret) == ("openai:gpt-4o@https://api.openai.com/v1", None)
    assert found.drawing.temperature == 0.2
    assert found.model_args == {"retries": "1", "extra.reasoning_effort": '"low"'}
    assert found.meta_template == {"round": [{"role": "HUMAN", "api_role": "HUMAN"}]}


def test_a_local_model() -> None:
    found = read(
        type="HuggingFaceBaseModel",
        abbr="base",
        path="org/base",
        batch_size=8,
        max_seq_len=2048,
        stop_words=["Q:"],
        model_kwargs={"torch_dtype": "torch.bfloat16", "device_map": "auto", "revision": "x"},
        generation_kwargs={"temperature": 0.9},
        run_cfg={"num_gpus": 2},
    )
    assert (found.model, found.is_chat) == ("hf:org/base", False)
    assert found.model_args == {"max_batch": "8", "context_length": "2048", "dtype": "bfloat16"}
    assert found.drawing == ModelSampling(temperature=0.0, stop=("Q:",)), "without do_sample nothing is drawn"
    assert any("run_cfg" in note for note in found.notes)
    assert any("revision" in note for note in found.notes)
    drawn = read(
        type="HuggingFacewithChatTemplate", path="p", generation_kwargs={"do_sample": True, "top_k": 5}
    )
    assert (drawn.drawing.temperature, drawn.is_chat, drawn.abbr) == (1.0, True, "hf-p")
    assert any("top_k: not supported" in note for note in drawn.notes)


def test_a_key_is_in_no_text_that_is_made_of_a_model() -> None:
    found = read(**service(api_key="sk-very-secret"))
    assert found.secret == "sk-very-secret"
    assert "very-secret" not in repr(found) + str(found) + str(found.model_args) + str(found.notes)
    shown = msgspec.structs.replace(found, secret=None)
    assert "very-secret" not in msgspec.json.encode(shown).decode()
    assert "very-secret" not in "".join(problems(service(api_key=["sk-very-secret"])))


@pytest.mark.parametrize(
    ("entry", "parts"),
    [
        (service(host_prt=1), ("unknown key 'host_prt'", "did you mean 'host_port'")),
        (service(stop_words=["x"]), ("'stop_words' does not apply to VLLMCustomAPIChat",)),
        (service(host_port="8080"), ("host_port is '8080', expected a number",)),
        (service(generation_kwargs=3), ("generation_kwargs is 3, expected a dict",)),
        (service(generation_kwargs={"temperature": "hot"}), ("generation_kwargs.temperature is 'hot'",)),
        (
            service(generation_kwargs={"lora_data_map_file": "x"}),
            ("lora_data_map_file", "one run per adapter"),
        ),
        (service(pred_postprocessor={"gsm8k*": {"type": "f"}}), ("differs between the datasets 'gsm8k*'",)),
        (service(pred_postprocessor={"type": "f", "tag": 1}), ("the arguments 'tag'",)),
        ({"type": "TritonCustomAPI", "abbr": "t"}, ("no 'model_name'", "--model-name NAME")),
        ({"type": "VLLMwithChatTemplate", "path": "p"}, ("VLLMwithChatTemplate", "vllm:PATH")),
        ({"type": "HuggingFaceChat", "path": "p"}, ("no model class 'HuggingFaceChat'", "did you mean")),
        ({"abbr": "m"}, ("no 'type'",)),
        ({"type": "HuggingFace", "abbr": "m"}, ("no 'path'",)),
        ({"type": "HuggingFace", "path": "p", "peft_path": "lora"}, ("peft_path", "change the answers")),
        (service(abbr=3), ("abbr is 3",)),
    ],
)
def test_what_is_wrong_is_reported(entry: dict[str, Any], parts: tuple[str, ...]) -> None:
    reported = "\n".join(problems(entry))
    assert "OPENICL-040 config.py models[0]" in reported
    assert all(part in reported for part in parts), reported


def test_all_that_is_wrong_is_reported_together() -> None:
    reported = problems(
        service(host_prt=1, retry="two"), {"type": "Nobody"}, service(max_out_len=0, abbr="n")
    )
    assert len(reported) == 4


def test_one_name_is_one_model() -> None:
    assert len(read_models([service(), service()], "c.py")) == 1, "the same entry twice is one"
    assert "'m' is already used by another model" in problems(service(), service(url="http://other"))[0]


OFFLINE = {"vllm_offline_vl_model": "vllm serve PATH", "qwen_image_edit": "generates images"}


@pytest.mark.parametrize("name", [name for name in MODEL_PRESETS if name not in OFFLINE])
def test_every_preset_is_a_model(name: str) -> None:
    more = {"path": "p"} if name.startswith("hf_") else {}
    more |= {"model_name": "llm"} if name.startswith("triton_") else {}
    (found,) = read_models([{**MODEL_PRESETS[name], **more}], name)
    assert found.model == {
        "tgi": "tgi:@http://localhost:8080",
        "triton": "triton:llm@http://localhost:8080",
        "vita": "openai:vita@http://127.0.0.1:1025/v1",
        "hf": "hf:p",
    }.get(name.partition("_")[0], "openai:@http://localhost:8080/v1")
    assert (found.model_args.get("stream") == "true") is ("stream" in name)
    assert found.is_chat is ("chat" in name or "qwenvl" in name)


@pytest.mark.parametrize(("name", "advice"), OFFLINE.items())
def test_a_preset_that_cannot_run_says_why(name: str, advice: str) -> None:
    (reported,) = problems(dict(MODEL_PRESETS[name]))
    assert advice in reported


def test_a_service_with_an_openai_address_is_called_there_with_a_note() -> None:
    (found,) = read_models([MODEL_PRESETS["mindie_stream_api_general"]], "c.py")
    assert any("the original calls /infer" in note for note in found.notes)


def test_a_triton_model_is_named_by_its_config_or_the_command_line() -> None:
    entry = {**MODEL_PRESETS["triton_api_general"], "model_name": "llm", "url": "host:9"}
    (found,) = read_models([{**entry, "model": "other"}], "c.py")
    assert found.model == "triton:other@http://host:9"
    assert found.model_args["max_tokens_name"] == "max_new_tokens"
