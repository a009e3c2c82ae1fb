"""Tiny models of several families and tokenizer styles, made once for all golden tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fakes.families import MakeModel, MakeOracle, Oracle, make_tokenizer, write_model


@pytest.fixture(scope="session")
def make_model(tmp_path_factory: pytest.TempPathFactory) -> MakeModel:
    """Return a function that writes a tiny model, once for each kind."""
    made: dict[str, Path] = {}

    def make(
        family: str = "llama",
        style: str = "gpt2",
        *,
        adds_bos: bool | None = None,
        template: str | None = None,
        **config: Any,
    ) -> Path:
        kind = repr((family, style, adds_bos, template, sorted(config.items())))
        if kind not in made:
            tokenizer = make_tokenizer(style, adds_bos=adds_bos, template=template)
            made[kind] = write_model(tmp_path_factory.mktemp("tiny") / family, tokenizer, family, **config)
        return made[kind]

    return make


@pytest.fixture(scope="session")
def oracle() -> MakeOracle:
    """Return a function that opens the brute-force oracle of a model, once for each."""
    opened: dict[Path, Oracle] = {}

    def of(folder: Path) -> Oracle:
        if folder not in opened:
            opened[folder] = Oracle(folder)
        return opened[folder]

    return of
