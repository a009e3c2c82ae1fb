"""Names of code: equal where they mean the same, and refusing what needs the code."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from assay.dialects.openicl.config.symbol import Symbol, SymbolUseError

GSM8K = Symbol("opencompass.datasets", "GSM8KDataset")


def test_a_name_is_equal_however_it_was_reached() -> None:
    by_package = Symbol.of("opencompass").datasets.GSM8KDataset
    assert by_package == GSM8K == Symbol.of("opencompass.datasets.GSM8KDataset")
    assert len({by_package, GSM8K}) == 1
    assert Symbol("opencompass.models", "GSM8KDataset") != GSM8K
    assert GSM8K != "opencompass.datasets.GSM8KDataset"


def test_written_as_module_and_name() -> None:
    assert repr(GSM8K) == "opencompass.datasets.GSM8KDataset"
    assert repr(Symbol.of("torch").bfloat16) == "torch.bfloat16"
    assert repr(Symbol.of("GSM8KDataset")) == "GSM8KDataset"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_are_equal(copied: Callable[[Symbol], Symbol]) -> None:
    assert copied(GSM8K) == GSM8K


def test_a_class_may_be_defined_upon_one() -> None:
    base: Any = Symbol.of("opencompass.summarizers.DefaultSummarizer")

    class Mine(base):  # type: ignore[misc]
        pass

    assert vars(Mine)["__orig_bases__"] == (base,)


@pytest.mark.parametrize(
    "use",
    [
        lambda one: one(),
        lambda one: one.load(path="x"),
        list,
        len,
        lambda one: one["x"],
        lambda one: "x" in one,
        lambda one: one + "x",
        lambda one: "x" + one,
        lambda one: f"{one}",
    ],
)
def test_what_needs_the_code_is_rejected(use: Callable[[Symbol], object]) -> None:
    with pytest.raises(SymbolUseError, match=r"opencompass\.datasets\.GSM8KDataset"):
        use(GSM8K)
