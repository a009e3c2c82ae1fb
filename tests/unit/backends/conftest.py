"""Tiny models of several families, made on the spot, and the real SmolLM2."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.backends.registry import open_backend
from assay.core.ports import Backend
from fakes.tiny_models import tiny_config, tiny_tokenizer

MakeModel = Callable[..., Path]


@pytest.fixture(scope="session")
def make_model(tmp_path_factory: pytest.TempPathFactory) -> MakeModel:
    """Return a function that writes a tiny random model to a folder, once for each kind."""
    made: dict[tuple[object, ...], Path] = {}

    def make(
        family: str = "llama",
        *,
        adds_bos: bool = False,
        chat: bool = False,
        context: int = 256,
        ends: tuple[int, ...] = (),
        sampling_defaults: bool = False,
    ) -> Path:
        kind = (family, adds_bos, chat, context, ends, sampling_defaults)
        if kind not in made:
            import torch
            from transformers import AutoModelForCausalLM
            from transformers.utils import logging

            tokenizer = tiny_tokenizer(adds_bos=adds_bos, chat=chat)
            with torch.random.fork_rng():
                torch.manual_seed(7)
                model = AutoModelForCausalLM.from_config(tiny_config(family, len(tokenizer), context))
            if ends:
                model.generation_config.eos_token_id = list(ends)
            if sampling_defaults:
                model.generation_config.do_sample = True
                model.generation_config.temperature = 0.6
                model.generation_config.top_k = 5
                model.generation_config.repetition_penalty = 1.7
            folder = tmp_path_factory.mktemp("tiny") / family
            logging.disable_progress_bar()
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            made[kind] = folder
        return made[kind]

    return make


@pytest.fixture(scope="session")
def smollm2() -> Iterator[Backend]:
    """Return the embedded model, loaded once for all tests that look at it."""
    backend = open_backend("smollm2", {})
    yield backend
    backend.close()
