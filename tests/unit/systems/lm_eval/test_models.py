"""--model and --model_args as models of Assay."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.systems.lm_eval.flags import FLAGS
from assay.systems.lm_eval.models import ResolvedModel, find_logged_name, resolve_model
from assay.systems.lm_eval.pairs import parse_pairs, parse_value


def resolve(model: str, args: str = "", *flags: str) -> ResolvedModel:
    given = parse_pairs([args] if args else None, "--model_args")
    return resolve_model(FLAGS.parse(["--model", model, *flags]).flags, given)


@pytest.mark.parametrize(
    ("model", "args", "name", "expected"),
    [
        ("hf", "pretrained=ORG/NAME", "hf:ORG/NAME", {}),
        (
            "huggingface",
            "pretrained=/m,dtype=torch.bfloat16,revision=v1,peft=/a,max_length=512,trust_remote_code=True",
            "hf:/m",
            {
                "dtype": "bfloat16",
                "revision": "v1",
                "lora": "/a",
                "context_length": "512",
                "trust_remote_code": "true",
            },
        ),
        ("hf", "pretrained=ORG/NAME,parallelize=True", "hf:ORG/NAME", {"device_map": "auto"}),
        ("hf", "pretrained=/m,gguf_file=q.gguf", "hf:/m/q.gguf", {}),
        ("hf", "pretrained=/m,tokenizer=/m,softmax_dtype=float32,delta=None", "hf:/m", {}),
        (
            "vllm",
            "pretrained=/m,tensor_parallel_size=2,gpu_memory_utilization=0.8,max_model_len=4096,cpu_offload_gb=4",
            "vllm:/m",
            {
                "tensor_parallel_size": "2",
                "gpu_memory_utilization": "0.8",
                "context_length": "4096",
                "engine.cpu_offload_gb": "4",
            },
        ),
        (
            "local-completions",
            "model=m,base_url=http://h:1/v1/completions,num_concurrent=8,max_retries=3,timeout=60",
            "openai:m@http://h:1/v1",
            {"concurrency": "8", "retries": "2", "timeout_s": "60", "api": "completions"},
        ),
        (
            "local-chat-completions",
            "model=m,base_url=http://h:1/v1/chat/completions",
            "openai:m@http://h:1/v1",
            {"api": "chat"},
        ),
        ("openai-chat-completions", "model=m", "openai:m@https://api.openai.com/v1", {"api": "chat"}),
        ("gguf", "base_url=http://h:1", "openai:@http://h:1/v1", {"api": "completions"}),
        ("dummy", "", "mock", {"answer": "lol"}),
        ("smollm2", "max_batch=4", "smollm2", {"max_batch": "4"}),
        ("openai:m@http://h/v1", "extra.top_k=3", "openai:m@http://h/v1", {"extra.top_k": "3"}),
    ],
)
def test_models(model: str, args: str, name: str, expected: dict[str, str]) -> None:
    resolved = resolve(model, args)
    assert (resolved.name, resolved.args) == (name, expected)


def test_arguments_that_are_settings_of_the_run() -> None:
    resolved = resolve("vllm", "pretrained=/m,data_parallel_size=2,max_gen_toks=99")
    assert (resolved.settings, resolved.max_gen_toks, resolved.args) == ({"workers": 2}, 99, {})


def test_hardware_flags_reach_local_models_alone() -> None:
    flags = ("--batch_size", "8", "--device", "cuda:1", "--trust_remote_code")
    local = resolve("hf", "pretrained=/m", *flags)
    assert local.args == {"max_batch": "8", "device": "cuda:1", "trust_remote_code": "true"}
    served = resolve("local-completions", "model=m,base_url=http://h/v1/completions", *flags)
    assert served.args == {"api": "completions"}
    assert [note.partition(":")[0] for note in served.notes] == [
        "--batch_size",
        "--device",
        "--trust_remote_code",
    ]
    assert resolve("hf", "pretrained=/m,batch_size=auto").args == {}
    assert resolve("hf", "pretrained=/m", "--batch_size", "auto:4").args == {}


def test_arguments_without_effect_are_noted() -> None:
    assert [
        note.partition(":")[0]
        for note in resolve("hf", "pretrained=/m,logits_cache=False,truncation=True").notes
    ] == ["--model_args logits_cache", "--model_args truncation"]


@pytest.mark.parametrize(
    ("model", "args", "what"),
    [
        ("hf", "pretrained=/m,enable_thinking=True", "where the thoughts end is unknown"),
        ("hf", "pretrained=/m,chat_template_args=on", "chat_template_args='on', expected a dict"),
        ("local-chat-completions", "model=m,base_url=http://h/v1,think_end_token=5", "=5, expected a text"),
        ("local-completions", "model=m,base_url=http://h/v1,add_bos_token=True", "add_bos_token=True"),
        ("hf", "pretrained=/m,tokenizer=/other", "not the tokenizer of /m"),
        ("hf", "pretrained=/m,backend=seq2seq", "encoder-decoder"),
        ("hf", "pretrained=/m,devise=cpu", "did you mean 'device'"),
        ("local-completions", "model=m,base_url=http://h/v1,auth_token=secret", "auth_token"),
        ("vllm-vlm", "", "vllm-vlm is not supported"),
    ],
)
def test_what_cannot_be_honoured_is_an_error(model: str, args: str, what: str) -> None:
    with pytest.raises(UsageError, match=what.replace("(", r"\(")):
        resolve(model, args)


@pytest.mark.parametrize(
    ("model", "args", "expected"),
    [
        ("hf", "pretrained=/m", {"chat_template_kwargs": '{"enable_thinking": false}'}),
        ("smollm2", "", {"chat_template_kwargs": '{"enable_thinking": false}'}),
        (
            "local-chat-completions",
            "model=m,base_url=http://h/v1",
            {"extra.chat_template_kwargs": '{"enable_thinking": false}', "api": "chat"},
        ),
    ],
)
def test_variables_of_the_chat_template(model: str, args: str, expected: dict[str, str]) -> None:
    assert resolve(model, f"{args},enable_thinking=False".lstrip(",")).args == expected
    both = resolve(model, f"{args},enable_thinking=True,chat_template_args={{'a':1}},think_end_token=</t>")
    (variables,) = (value for name, value in both.args.items() if name.endswith("chat_template_kwargs"))
    assert variables == '{"a": 1, "enable_thinking": true}'
    assert (both.thinks, both.think_end_token) == (True, "</t>")


def test_a_named_template_and_the_bos_token() -> None:
    found = resolve("hf", "pretrained=/m,add_bos_token=True", "--apply_chat_template", "rag")
    assert found.args == {"add_bos_token": "true", "chat_template": "rag"}
    assert resolve("hf", "pretrained=/m", "--apply_chat_template").args == {}
    with pytest.raises(UsageError, match="a server has its own chat template"):
        resolve("local-completions", "model=m,base_url=http://h/v1", "--apply_chat_template", "rag")


def test_a_rejected_secret_is_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        resolve("local-completions", "model=m,base_url=http://h/v1,auth_token=hunter2")
    assert "hunter2" not in str(caught.value)


def test_the_adapter_names_the_results() -> None:
    given: dict[str, Any] = {"pretrained": "org/base", "peft": "org/adapter"}
    assert find_logged_name(given, resolve("hf", "pretrained=org/base")) == "org/adapter"
    assert find_logged_name({}, resolve("smollm2")) == "smollm2"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("False", False),
        ("12", 12),
        ("0.5", 0.5),
        ("1e3", 1000.0),
        ("None", None),
        ("['a', 'b']", ["a", "b"]),
        ("float16", "float16"),
        ("-1", -1.0),
    ],
)
def test_values(text: str, value: Any) -> None:
    assert parse_value(text) == value


def test_pairs_in_all_forms() -> None:
    values = ["a=1,b=[1,2],c='x,y'", "d=k=v", '{"e": {"f": [1]}, "a": 2}', ",g=,"]
    assert parse_pairs(values, "--x") == {
        "a": 2,
        "b": [1, 2],
        "c": "x,y",
        "d": "k=v",
        "e": {"f": [1]},
        "g": "",
    }
