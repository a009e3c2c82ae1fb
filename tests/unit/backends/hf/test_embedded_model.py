from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.backends.hf import embedded_model
from assay.backends.hf.embedded_model import EmbeddedFiles

pytestmark = pytest.mark.model


def test_unpacked_weights_are_the_files_own(smollm2: Any) -> None:
    """Read some tensors with the gguf package alone and find them in the unpacked folder."""
    import numpy as np
    from gguf import GGUFReader, dequantize
    from safetensors.numpy import load_file

    unpacked = load_file(smollm2._files.prepare_path() / "model.safetensors")
    packed = {t.name: t for t in GGUFReader(smollm2._files.path).tensors}
    for theirs, ours in (
        ("token_embd.weight", "model.embed_tokens.weight"),
        ("blk.3.ffn_down.weight", "model.layers.3.mlp.down_proj.weight"),
        ("blk.29.attn_v.weight", "model.layers.29.self_attn.v_proj.weight"),
        ("output_norm.weight", "model.norm.weight"),
    ):
        values = dequantize(packed[theirs].data, packed[theirs].tensor_type)
        assert np.array_equal(values.reshape(unpacked[ours].shape), unpacked[ours])
    # Queries and keys lie in llama.cpp's order of rotary pairs: even and odd instead of halves.
    values = dequantize(packed["blk.0.attn_k.weight"].data, packed["blk.0.attn_k.weight"].tensor_type)
    paired = values.reshape(3, 32, 2, -1).swapaxes(1, 2).reshape(values.shape)
    assert np.array_equal(paired, unpacked["model.layers.0.self_attn.k_proj.weight"])


def test_tokenizer_came_through(smollm2: Any) -> None:
    tokenizer = smollm2._tokenizer
    for text, id_ in (("<|endoftext|>", 0), ("<|im_start|>", 1), ("<|im_end|>", 2)):
        assert tokenizer.encode(text, add_special_tokens=False) == [id_]
    assert tokenizer.chat_template == smollm2._files.chat_template
    assert len(tokenizer) == 49152
    for text in ("hello  world\n\n\t日本語 🙂 café 1234", " leading", "trailing \n"):
        assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


def test_digits_stand_apart(smollm2: Any) -> None:
    """The file asks for it, and a blank line before a number is one token only then."""
    tokens = smollm2._tokenizer.tokenize("in 2024\n\n12 and  3")
    assert tokens == ["in", "Ġ", "2", "0", "2", "4", "ĊĊ", "1", "2", "Ġand", "ĠĠ", "3"]


def test_a_half_made_folder_is_never_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))

    def fails(_: Path, folder: Path) -> None:
        (folder / "config.json").write_text("{}")
        raise KeyboardInterrupt

    monkeypatch.setattr(embedded_model, "save_converted", fails)
    with pytest.raises(KeyboardInterrupt):
        EmbeddedFiles().prepare_path()
    assert list((tmp_path / "models").iterdir()) == []


def test_identity_is_the_files_hash(smollm2: Any) -> None:
    identity = smollm2.identity()
    assert (identity.backend, identity.dtype) == ("smollm2", "float32")
    assert identity.weights == EmbeddedFiles().weights()
    assert smollm2.card.context_length == 8192
