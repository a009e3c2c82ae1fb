"""Small tokenizers made on the spot: pieces of words, single characters, and a way to open them."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from assay.bench.texts import iter_words


def write_tokenizers(folder: Path) -> dict[str, Path]:
    """Write `pieces` (of words, and two special tokens), `letters` (one token for each) and `unigram` (likely
    pieces, spaces before words, as SentencePiece has it).
    """
    tokenizers = pytest.importorskip("tokenizers")
    byte_level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    corpus = ["".join(islice(iter_words(1, "corpus", 0), 3000))]
    made_by_name = {}
    for name, size in (("pieces", 700), ("letters", len(alphabet) + 2)):
        made = tokenizers.Tokenizer(tokenizers.models.BPE())
        made.pre_tokenizer = byte_level
        made.decoder = tokenizers.decoders.ByteLevel()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=["<s>", "</s>"],
            initial_alphabet=sorted(alphabet),
            show_progress=False,
        )
        made.train_from_iterator(corpus, trainer)
        made_by_name[name] = made
    made = tokenizers.Tokenizer(tokenizers.models.Unigram())
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="first")
    made.decoder = tokenizers.decoders.Metaspace()
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=500, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
    )
    made.train_from_iterator(corpus, trainer)
    made_by_name["unigram"] = made
    paths = {}
    for name, made in made_by_name.items():
        path = folder / name / "tokenizer.json"
        path.parent.mkdir(parents=True)
        made.save(str(path))
        paths[name] = path
    return paths
