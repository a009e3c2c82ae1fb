"""Pairs compared by a small encoder: the same numbers in batches and one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.backends.hf.sentence_encoder import compare_pairs

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


@pytest.fixture
def encoder(tmp_path: Path) -> str:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("\n".join(words), encoding="utf-8")
    folder = tmp_path / "model"
    tokenizer = transformers.BertTokenizer(str(vocabulary), model_max_length=16)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=16, num_labels=1, initializer_range=1.0,
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return str(folder)


def test_every_pair_has_its_own_number(encoder: str) -> None:
    first = ["a b", "c d e f g h", "a"] * 7
    second = ["b a", "h g f e d c b a h g f e d c b a", "h"] * 7
    together = compare_pairs(encoder, first, second)
    alone = [compare_pairs(encoder, [one], [other])[0] for one, other in zip(first, second, strict=True)]
    assert together == pytest.approx(alone, abs=1e-5)
    assert len({round(number, 4) for number in together}) == 3
