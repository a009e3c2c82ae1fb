from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.backends.hf.backend import HfBackend
from assay.backends.hf.gguf_header import NotGguf, read_header
from assay.backends.local.model_files import FolderFiles, GgufFiles, hash_each, hash_file, hash_files
from assay.backends.registry import open_backend
from assay.core.errors import BackendError
from assay.core.request import Generate, Sampling, make_request

pytestmark = pytest.mark.usefixtures("empty_cache")


def folder(at: Path, **config: object) -> Path:
    at.mkdir(exist_ok=True)
    (at / "config.json").write_text(json.dumps(config))
    (at / "model.safetensors").write_bytes(b"weights")
    (at / "tokenizer.json").write_text("{}")
    return at


def problem(where: str) -> tuple[str, str]:
    with pytest.raises(BackendError) as caught:
        open_backend(f"hf:{where}", {})
    return caught.value.problems[0].code, str(caught.value)


def test_missing_folder_names_its_nearest_sibling(tmp_path: Path) -> None:
    folder(tmp_path / "qwen-base")
    code, text = problem(str(tmp_path / "qwen-bas"))
    assert code == "MODEL-003"
    assert "did you mean 'qwen-base'" in text
    assert "config.json" in text


@pytest.mark.parametrize(
    ("gone", "named"),
    [("config.json", "config.json"), ("model.safetensors", "weights"), ("tokenizer.json", "tokenizer")],
)
def test_each_missing_part_is_named(tmp_path: Path, gone: str, named: str) -> None:
    (folder(tmp_path / "m") / gone).unlink()
    code, text = problem(str(tmp_path / "m"))
    assert (code, named in text) == ("MODEL-003", True)


def test_folders_that_hold_something_else_get_advice(tmp_path: Path) -> None:
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text("{}")
    assert f"hf:BASE --model-arg lora={adapter}" in problem(str(adapter))[1]
    (adapter / "adapter_config.json").write_text('{"base_model_name_or_path": "meta/base"}')
    assert f"hf:meta/base --model-arg lora={adapter}" in problem(str(adapter))[1]
    outer = tmp_path / "outer"
    outer.mkdir()
    folder(outer / "inner")
    assert f"hf:{outer / 'inner'}" in problem(str(outer))[1]
    (outer / "x.gguf").write_bytes(b"")
    assert f"hf:{outer / 'x.gguf'}" in problem(str(outer))[1]
    assert problem(str(outer / "y.gguf"))[0] == "MODEL-003"


def test_encoder_decoders_are_rejected_early(tmp_path: Path) -> None:
    assert problem(str(folder(tmp_path / "t5", is_encoder_decoder=True)))[0] == "MODEL-005"


def test_broken_json_is_said_to_be_broken(tmp_path: Path) -> None:
    (folder(tmp_path / "m") / "config.json").write_text("{")
    assert problem(str(tmp_path / "m"))[0] == "MODEL-005"


def test_card_from_small_files(tmp_path: Path) -> None:
    files = FolderFiles(folder(tmp_path / "m", n_positions=77, torch_dtype="bfloat16"))
    assert (files.context_length, files.dtype, files.chat_template) == (77, "bfloat16", None)
    (tmp_path / "m" / "tokenizer_config.json").write_text(
        json.dumps(
            {"chat_template": [{"name": "tool", "template": "t"}, {"name": "default", "template": "d"}]}
        )
    )
    assert FolderFiles(tmp_path / "m").chat_template == "d"
    (tmp_path / "m" / "chat_template.jinja").write_text("own")
    assert FolderFiles(tmp_path / "m").chat_template == "own"
    nested = FolderFiles(
        folder(tmp_path / "n", text_config={"max_position_embeddings": 9, "dtype": "float16"})
    )
    assert (nested.context_length, nested.dtype) == (9, "float16")


def test_template_file_replaces_the_models_own(tmp_path: Path) -> None:
    own = tmp_path / "t.jinja"
    own.write_text("{{ messages }}")
    where = f"hf:{folder(tmp_path / 'm')}"
    plain, dressed = open_backend(where, {}), open_backend(where, {"chat_template": str(own)})
    assert (plain.card.is_chat, dressed.card.is_chat) == (False, True)
    assert plain.identity().digest != dressed.identity().digest
    with pytest.raises(BackendError, match="MODEL-003"):
        open_backend(where, {"chat_template": str(tmp_path / "absent")})


def test_a_named_template_is_one_of_the_models_own(tmp_path: Path) -> None:
    where = folder(tmp_path)
    templates = [{"name": name, "template": f"{{{{ '{name}' }}}}"} for name in ("default", "rag")]
    (where / "tokenizer_config.json").write_text(json.dumps({"chat_template": templates}))
    (where / "additional_chat_templates").mkdir()
    (where / "additional_chat_templates" / "tools.jinja").write_text("{{ 'tools' }}")
    assert sorted(FolderFiles(where).named_templates) == ["default", "rag", "tools"]
    default = HfBackend(str(where), {}).identity().template
    named = [HfBackend(str(where), {"chat_template": name}) for name in ("rag", "tools")]
    assert len({default, *(backend.identity().template for backend in named)}) == 3
    with pytest.raises(BackendError, match=r"no chat template 'rga'.* 'default', 'rag', 'tools'"):
        HfBackend(str(where), {"chat_template": "rga"}).card  # noqa: B018


def test_variables_of_the_template_are_part_of_the_identity(tmp_path: Path) -> None:
    where = str(folder(tmp_path))
    args = {"chat_template_kwargs": '{"enable_thinking": false}', "add_bos_token": "false"}
    assert HfBackend(where, args).identity().args == {
        "chat_template_kwargs": '{"enable_thinking":false}',
        "add_bos_token": False,
    }
    for text, what in (("[]", "not a JSON object"), ('{"messages": 1}', "Assay sets 'messages' itself")):
        with pytest.raises(BackendError, match=what):
            HfBackend(where, {"chat_template_kwargs": text})


def test_identity_follows_every_byte_and_no_name(tmp_path: Path) -> None:
    one, two = folder(tmp_path / "one"), folder(tmp_path / "two")
    first = FolderFiles(one).weights()
    assert first == FolderFiles(two).weights()
    (two / "tokenizer.json").write_text('{"other": 1}')
    assert first != FolderFiles(two).weights()
    (one / "model.safetensors").write_bytes(b"weightS")
    assert first != FolderFiles(one).weights()


@pytest.mark.parametrize("name", ["modeling_own.py", "own.tiktoken"])
def test_identity_follows_a_model_s_own_code_and_its_unnamed_tokenizer(tmp_path: Path, name: str) -> None:
    where = folder(tmp_path / "m")
    (where / name).write_text("x = 1")
    first = FolderFiles(where).weights()
    (where / name).write_text("x = 2")
    assert first != FolderFiles(where).weights()


def test_hash_is_kept_by_size_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "w.bin"
    file.write_bytes(b"x" * 1000)
    first = hash_file(file)
    monkeypatch.setattr(
        "assay.backends.local.model_files._BLOCK", 0
    )  # A second reading would now see nothing.
    assert hash_file(file) == first


def test_the_hash_of_a_large_file_depends_on_every_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.backends.local.model_files._PART", 1000)
    monkeypatch.setattr("assay.backends.local.model_files._BLOCK", 300)
    parts = [bytes([number]) * 1000 for number in (1, 2)] + [b"end"]
    contents = {
        "whole": b"".join(parts),
        "other start": b"x" + b"".join(parts)[1:],
        "other end": b"".join(parts)[:-1] + b"x",
        "parts exchanged": parts[1] + parts[0] + parts[2],
        "longer": b"".join(parts) + b"\0",
        "only whole parts": parts[0] + parts[1],
        "one part": parts[0],
        "empty": b"",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    hashes = hash_each([tmp_path / name for name in contents])
    assert list(hashes) == list(contents)
    assert len(set(hashes.values())) == len(contents)
    assert hashes["one part"] == hashlib.blake2b(parts[0], digest_size=16).hexdigest()
    assert {name: hash_file(tmp_path / name) for name in contents} == hashes


def test_a_copy_that_keeps_size_and_time_is_read_again(tmp_path: Path) -> None:
    """As `cp -p` and `rsync -t` do, or another node's file where nodes share the folder of hashes."""
    file, other = tmp_path / "w.bin", tmp_path / "other.bin"
    file.write_bytes(b"x" * 1000)
    first, before = hash_file(file), file.stat()
    other.write_bytes(b"y" * 1000)
    other.replace(file)
    while file.stat().st_ctime_ns == before.st_ctime_ns or file.stat().st_mtime_ns != before.st_mtime_ns:
        # The clock of a file system ticks some hundred times a second.
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert hash_file(file) != first


def test_a_model_that_was_asked_who_it_is_does_not_change(tmp_path: Path) -> None:
    files = FolderFiles(folder(tmp_path / "m"))
    first, hashes = files.weights(), dict(files.hashes)
    (tmp_path / "m" / "model.safetensors").write_bytes(b"others")
    assert (files.weights(), files.hashes) == (first, hashes)
    assert FolderFiles(tmp_path / "m").hashes["model.safetensors"] != hashes["model.safetensors"]


def test_a_cache_that_cannot_be_written_is_no_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "blocked").write_text("a file where a folder should be")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "blocked"))
    (tmp_path / "w").write_bytes(b"x")
    assert hash_files([tmp_path / "w"]) == hash_files([tmp_path / "w"])


def test_weights_that_do_not_load_keep_their_cause(make_model: Callable[..., Path], tmp_path: Path) -> None:
    import shutil

    broken = tmp_path / "broken"
    shutil.copytree(make_model(), broken)
    (broken / "model.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0not json")
    ask = make_request("t", "s", "gen", "answer", 0, Generate("x", Sampling()))
    with pytest.raises(BackendError, match="MODEL-005"):
        list(open_backend(f"hf:{broken}", {}).run([ask]))


def test_weights_that_are_missing_are_not_made_up(make_model: Callable[..., Path], tmp_path: Path) -> None:
    import shutil

    from safetensors.torch import load_file, save_file

    broken = tmp_path / "broken"
    shutil.copytree(make_model(), broken)
    weights = load_file(broken / "model.safetensors")
    del weights["model.norm.weight"]
    save_file(weights, broken / "model.safetensors", metadata={"format": "pt"})
    ask = make_request("t", "s", "gen", "answer", 0, Generate("x", Sampling()))
    with pytest.raises(BackendError, match=r"MODEL-005.*model\.norm\.weight"):
        list(open_backend(f"hf:{broken}", {}).run([ask]))


def test_weights_that_do_not_fit_into_memory(
    make_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Memory cannot be made to run out on demand; torch's CPU allocator says it in these words.
    def full(*_: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")

    monkeypatch.setattr("assay.backends.hf.loading._load_folder", full)
    backend = open_backend(f"hf:{make_model('llama')}", {})
    ask = Generate("hello", Sampling(max_tokens=1))
    with pytest.raises(BackendError, match=r"MODEL-006.*smaller model"):
        list(backend.run([make_request("t", "s", "gen", "answer", 0, ask)]))


def test_an_absent_device_is_said_to_be_absent(make_model: Callable[..., Path]) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    ask = make_request("t", "s", "gen", "answer", 0, Generate("x", Sampling()))
    with pytest.raises(BackendError, match=r"MODEL-005.*device"):
        list(open_backend(f"hf:{make_model()}", {"device": "cuda"}).run([ask]))


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def test_gguf_header_of_every_kind(tmp_path: Path) -> None:
    pairs = [
        _string("general.architecture") + struct.pack("<I", 8) + _string("llama"),
        _string("list") + struct.pack("<IIQ", 9, 8, 2) + _string("a") + _string("bc"),
        _string("numbers") + struct.pack("<IIQ", 9, 4, 3) + struct.pack("<III", 1, 2, 3),
        _string("nested") + struct.pack("<IIQ", 9, 9, 1) + struct.pack("<IQ", 0, 2) + b"xy",
        _string("llama.context_length") + struct.pack("<II", 4, 512),
        _string("flag") + struct.pack("<I?", 7, True),
    ]
    file = tmp_path / "x.gguf"
    file.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + b"".join(pairs))
    assert read_header(file)["flag"] is True
    assert GgufFiles(file).context_length == 512
    assert GgufFiles(file).chat_template is None
    for whole in range(4, len(file.read_bytes()), 7):
        cut = tmp_path / "cut.gguf"
        cut.write_bytes(file.read_bytes()[:whole])
        with pytest.raises(NotGguf):
            read_header(cut)
    (tmp_path / "no.gguf").write_bytes(b"PK\x03\x04")
    with pytest.raises(BackendError, match="MODEL-005"):
        _ = open_backend(f"hf:{tmp_path / 'no.gguf'}", {}).card
