"""Everything that can be wrong with a model on the hub: a code, the cause, the fix, exit status 2."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli import Result, assay
from fakes.hub_here import hub_here
from fakes.hub_repositories import Content
from fakes.hub_server import HubServer, User, hub_on_loopback, rate_limited, status, times

pytest.importorskip("huggingface_hub")
TOKEN = "hf_readerreaderreader"


def model_files(**config: object) -> dict[str, Content]:
    return {
        "config.json": json.dumps({"model_type": "llama", **config}),
        "tokenizer.json": "{}",
        "model.safetensors": b"weights " * 1000,
    }


WITHOUT_WEIGHTS: dict[str, Content] = {
    name: content for name, content in model_files().items() if name != "model.safetensors"
}
INDEX = json.dumps({"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "other.safetensors"}})


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with hub_on_loopback() as server:
        server.users[TOKEN] = User("reader")
        yield server


@pytest.fixture
def here(hub: HubServer, workdir: Path) -> Iterator[pytest.MonkeyPatch]:
    (workdir / "data.csv").write_text("question,A,B,answer\n1+1=,1,2,B\n", encoding="utf-8")
    with hub_here(hub, workdir / "hf") as patch:
        patch.setattr("assay.hub.downloads._RETRY_WAITS_S", (0.0, 0.0))
        patch.setattr("assay.hub.repository._RETRY_WAITS_S", (0.0, 0.0))
        yield patch


def run(model: str, *arguments: str) -> Result:
    return assay("run", "data.csv", "-m", model, *arguments)


def assert_error(result: Result, code: str, *message: str) -> None:
    text = " ".join(result.err.split())
    assert (result.status, code in text) == (2, True), result.err
    assert [one for one in message if one not in text] == [], text
    assert "Traceback" not in text


# --- the repository ---


@pytest.mark.parametrize("token", [None, TOKEN])
def test_a_wrong_name_gets_the_nearest_names(
    hub: HubServer, here: pytest.MonkeyPatch, token: str | None
) -> None:
    for name in ("HuggingFaceTB/SmolLM2-135M-Instruct", "HuggingFaceTB/SmolLM2-135M", "other/thing"):
        hub.add_model(name, model_files())
    if token:
        here.setenv("HF_TOKEN", token)
    result = run("hf:HuggingFaceTB/SmolLM2-135M-Instuct")
    assert_error(
        result,
        "MODEL-011",
        "no folder 'HuggingFaceTB/SmolLM2-135M-Instuct' here",
        f"the hub {hub.endpoint} has no public model",
        "fix: write hf:HuggingFaceTB/SmolLM2-135M-Instruct,",
        "HF_TOKEN",
    )
    assert "other/thing" not in result.err
    assert_error(run("hf:nobody/knows-this-one"), "MODEL-011", "fix: check the name")


def test_a_private_model_looks_like_none_and_a_token_opens_it(
    hub: HubServer, here: pytest.MonkeyPatch
) -> None:
    hub.add_model("org/secret", WITHOUT_WEIGHTS, is_private=True)
    assert_error(
        run("hf:org/secret"),
        "MODEL-011",
        "for a private model, put a token that has access to it into HF_TOKEN",
    )
    hub.users[TOKEN] = User("reader", ("org/secret",))
    here.setenv("HF_TOKEN", TOKEN)
    assert_error(run("hf:org/secret"), "MODEL-018")


def test_a_wrong_revision_gets_the_branches_and_tags(hub: HubServer, here: pytest.MonkeyPatch) -> None:
    hub.add_model("org/name", model_files()).tag("v1")
    assert_error(
        run("hf:org/name@v3"), "MODEL-012", "no revision 'v3'", "it has 'main', 'v1'", "hf:org/name@main"
    )
    assert_error(run("hf:org/name", "--model-arg", "revision=" + "0" * 40), "MODEL-012")


def test_a_gated_model_says_how_to_get_access(hub: HubServer, here: pytest.MonkeyPatch) -> None:
    hub.add_model("org/closed", model_files(), gated="manual")
    page = f"request access at {hub.endpoint}/org/closed"
    assert_error(
        run("hf:org/closed"), "MODEL-013", "restricted", page, "put a token of that account into HF_TOKEN"
    )
    here.setenv("HF_TOKEN", TOKEN)
    result = run("hf:org/closed")
    assert_error(result, "MODEL-013", page, "with the account of the token in use")
    here.setenv("HF_TOKEN", "hf_forgedforgedforged")
    forged = run("hf:org/closed")
    assert_error(forged, "MODEL-013", "Invalid credentials", "correct or unset HF_TOKEN")
    assert "forgedforged" not in forged.err


# --- the hub ---


def test_a_hub_that_fails_or_is_gone_is_named(
    hub: HubServer, here: pytest.MonkeyPatch, workdir: Path
) -> None:
    hub.add_model("org/name", model_files())
    hub.faults["/api/models/org/name"] = [rate_limited(300)]
    assert_error(run("hf:org/name"), "MODEL-015", "HTTP status 429", "wait 300 seconds", "HF_TOKEN")
    hub.faults["/api/models/org/name"] = times(3, status(503))
    assert_error(run("hf:org/name"), "MODEL-014", "does not answer correctly", "HTTP status 503")
    hub.faults["/resolve/"] = times(20, rate_limited(300))
    assert_error(run("hf:org/name"), "MODEL-015", "it resumes the download")
    hub.faults["/resolve/"] = times(99, status(500))
    assert_error(run("hf:org/name"), "MODEL-014", "HTTP status 500")
    hub.faults.clear()
    hub.stop()
    shutil.rmtree(workdir / "hf")
    gone = run("hf:org/name")
    assert_error(
        gone, "MODEL-014", f"the hub {hub.endpoint} cannot be reached", "check HF_ENDPOINT, the network"
    )


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("http://name:password@127.0.0.1:1", "cannot be reached"),
        ("no-address", "cannot be reached"),
        ("http://[broken", "cannot be reached"),
    ],
)
def test_an_endpoint_that_is_none_is_shown_without_its_password(
    hub: HubServer, here: pytest.MonkeyPatch, address: str, message: str
) -> None:
    here.setattr("huggingface_hub.constants.ENDPOINT", address)
    result = run("hf:org/name")
    assert_error(result, "MODEL-014", message, "check HF_ENDPOINT")
    assert "password" not in result.err


def test_another_server_at_the_endpoint_is_not_taken_for_a_hub(
    hub: HubServer, here: pytest.MonkeyPatch
) -> None:
    hub.add_model("org/name", model_files())
    from aiohttp import web

    def answering(text: str) -> Callable[..., Any]:
        async def fault(hub: HubServer, asked: web.Request) -> web.StreamResponse:
            return web.Response(text=text, content_type="text/html")

        return fault

    for text in ("<html>a router</html>", "[1, 2]", '{"no": "id"}'):
        hub.faults["/api/models/org/name"] = [answering(text)]
        assert_error(run("hf:org/name"), "MODEL-014", "the answer is not a hub's")


# --- the disk ---


def test_a_disk_that_is_too_small_is_found_before_the_first_byte(
    hub: HubServer, here: pytest.MonkeyPatch
) -> None:
    hub.add_model("org/name", model_files())
    usage = shutil.disk_usage(os.curdir)
    here.setattr(shutil, "disk_usage", lambda _: usage._replace(free=5000))
    assert_error(run("hf:org/name"), "MODEL-017", "needs 8.03 kB", "the disk has only 5 kB left", "HF_HOME")
    assert hub.find_requests("/resolve/") == []


def test_a_disk_that_fills_up_ends_the_download(hub: HubServer, here: pytest.MonkeyPatch) -> None:
    hub.add_model("org/name", model_files())

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    here.setattr("assay.hub.downloads._Transfer._count_bytes", full)
    assert_error(run("hf:org/name"), "MODEL-017", "No space left", "the same command resumes")


# --- what is in it ---

NOTHING_TO_LOAD: list[tuple[dict[str, Content], tuple[str, ...]]] = [
    ({"README.md": "soon"}, ("no weights that transformers can load", "it has 'README.md'")),
    (
        {
            **WITHOUT_WEIGHTS,
            "original/consolidated.00.pth": b"x" * 2000,
            "tf_model.h5": b"y",
            "training_args.bin": b"z",
        },
        ("'original/consolidated.00.pth' (2 kB)", "'tf_model.h5' (1 B)", "model.safetensors"),
    ),
    (
        {"README.md": "two", "base/config.json": "{}", "base/model.safetensors": b"w"},
        ("'base/model.safetensors'", "`hf download org/name` and give the folder base"),
    ),
    (
        {
            "adapter_config.json": '{"base_model_name_or_path": "meta/base", "r": 8}',
            "adapter_model.safetensors": b"w",
            "tokenizer.json": "{}",
        },
        (
            "an adapter of meta/base",
            "hf:meta/base --model-arg lora=org/name (or vllm:meta/base)",
        ),
    ),
    (
        {"m-Q8_0.gguf": b"q" * 3000, "m-Q4_0.gguf": b"q" * 2000, "mmproj-m.gguf": b"v"},
        ("'m-Q4_0.gguf' (2 kB), 'm-Q8_0.gguf' (3 kB)", "fix: choose one of them: hf:org/name/m-Q4_0.gguf"),
    ),
    ({"model.safetensors": b"w", "tokenizer.json": "{}"}, ("no config.json",)),
    ({"model.safetensors": b"w", "config.json": "{}"}, ("no tokenizer",)),
    (
        {**WITHOUT_WEIGHTS, "model.safetensors.index.json": INDEX, "model-00001-of-00002.safetensors": b"w"},
        ("model.safetensors.index.json names 'other.safetensors', which the repository does not have",),
    ),
]


@pytest.mark.parametrize(("files", "message"), NOTHING_TO_LOAD)
def test_a_repository_without_a_model_says_what_is_in_it(
    hub: HubServer, here: pytest.MonkeyPatch, files: dict[str, Content], message: tuple[str, ...]
) -> None:
    hub.add_model("org/name", files)
    assert_error(run("hf:org/name"), "MODEL-018", *message)
    assert hub.find_requests("GET /content/") == [], "no weights are downloaded"


def test_a_gguf_file_that_is_not_there_or_a_part_gets_what_to_write(
    hub: HubServer, here: pytest.MonkeyPatch
) -> None:
    hub.add_model("org/name", {"m-Q4_0.gguf": b"q", "big-00001-of-00002.gguf": b"p"})
    assert_error(
        run("hf:org/name/m-Q5_0.gguf"), "MODEL-018", "no file 'm-Q5_0.gguf'", "write hf:org/name/m-Q4_0.gguf"
    )
    assert_error(run("hf:org/name/big-00001-of-00002.gguf"), "MODEL-005", "one part of a split GGUF file")
    assert_error(run("hf:org/name/m-Q4_0.gguf"), "MODEL-005", "not a GGUF file")


def test_a_model_with_its_own_code_names_the_flag_before_weights_are_downloaded(
    hub: HubServer, here: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    own = {"AutoModelForCausalLM": "modeling_new.NewForCausalLM"}
    hub.add_model(
        "org/own",
        {**model_files(model_type="brand-new", auto_map=own), "modeling_new.py": "raise SystemExit"},
    )
    hub.add_model("org/newer", model_files(model_type="brand-new"))
    hub.add_model("org/pair", model_files(model_type="t5", is_encoder_decoder=True))
    assert_error(
        run("hf:org/own"), "MODEL-019", "modeling_new.NewForCausalLM", "--model-arg trust_remote_code=true"
    )
    assert hub.find_requests("modeling_new.py") == []
    assert_error(run("hf:org/newer"), "MODEL-005", "'brand-new', which transformers", "upgrade transformers")
    assert_error(run("hf:org/pair"), "MODEL-005", "encoder-decoder")
    assert hub.find_requests("GET /content/") == []


def test_a_machine_without_the_client_is_reported_what_to_install(
    hub: HubServer, here: pytest.MonkeyPatch
) -> None:
    here.setattr(
        "assay.backends.problems.find_spec",
        lambda name: None if name == "huggingface_hub" else object(),
    )
    assert_error(run("hf:org/name"), "MODEL-004", "needs huggingface_hub", "pip install 'assay-eval[hf]'")
