"""Models that the calling program has loaded: the same numbers, and a training loop that goes on unharmed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import assay
from fakes.tiny_models import write_tiny_model

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

ROWS = [{"question": f"{n}+{n}=", "A": str(2 * n), "B": str(2 * n + 1), "answer": "A"} for n in range(1, 5)]
SETTINGS: dict[str, Any] = {"method": ["ppl", "gen"], "max_tokens": 4, "chat": "off"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny"), chat=True)


@pytest.fixture
def loaded(folder: Path) -> tuple[Any, Any]:
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return model, transformers.AutoTokenizer.from_pretrained(folder)


def read_logprobs(result: assay.RunResult) -> list[float]:
    return [option["sum_logprob"] for score in result.scores for option in score.get("options", ())]


def train(model: Any) -> None:
    """Take one step of training."""
    ids = torch.arange(1, 9)[None]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()
    optimizer.zero_grad()


@pytest.mark.usefixtures("workdir")
def test_a_loaded_model_has_the_numbers_of_its_folder(folder: Path, loaded: tuple[Any, Any]) -> None:
    mine = assay.run(ROWS, model=loaded, **SETTINGS)
    stored = assay.run(ROWS, model=f"hf:{folder}", **SETTINGS)
    assert read_logprobs(mine) == pytest.approx(read_logprobs(stored), abs=1e-4)
    assert [row["gen_answer"] for row in mine.rows] == [row["gen_answer"] for row in stored.rows]
    assert mine.manifest["model"]["name"].startswith("python:")


@pytest.mark.usefixtures("workdir")
def test_a_training_loop_gets_its_model_back_as_it_was(loaded: tuple[Any, Any]) -> None:
    model, tokenizer = loaded
    model.train()
    model.model.layers[0].eval()
    tokenizer.backend_tokenizer.enable_truncation(2)
    train(model)
    modes = {name: module.training for name, module in model.named_modules()}
    attention = model.config._attn_implementation
    random = torch.get_rng_state()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        first = assay.run(ROWS, model=loaded, **SETTINGS)
        assert torch.is_autocast_enabled("cpu")
    assert {name: module.training for name, module in model.named_modules()} == modes
    assert model.config._attn_implementation == attention
    assert torch.equal(torch.get_rng_state(), random)
    assert tokenizer.backend_tokenizer.truncation["max_length"] == 2
    assert not any(tensor.is_inference() for tensor in (*model.parameters(), *model.buffers()))
    again = assay.run(ROWS, model=loaded, **SETTINGS)
    assert again.folder == first.folder
    assert again.manifest["stats"]["requests_journaled"] == again.manifest["stats"]["requests"]
    before = [parameter.clone() for parameter in model.parameters()]
    train(model)
    assert any(not torch.equal(*pair) for pair in zip(before, model.parameters(), strict=True))
    trained = assay.run(ROWS, model=loaded, **SETTINGS)
    assert trained.folder != first.folder
    assert trained.manifest["stats"]["requests_journaled"] == 0
    assert read_logprobs(trained) != read_logprobs(first)


@pytest.mark.usefixtures("workdir")
def test_a_failed_run_also_gives_the_model_back(
    loaded: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _ = loaded
    model.train()

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("broken forward")

    monkeypatch.setattr(type(model), "forward", fail)
    with pytest.raises(assay.AssayError, match=r"MODEL-005.*cannot be evaluated"):
        assay.run(ROWS, model=loaded, method="gen", max_tokens=4)
    assert all(module.training for module in model.modules())


def test_a_change_of_one_number_changes_the_hash(loaded: tuple[Any, Any]) -> None:
    from assay.backends.hf.weight_hash import hash_weights

    model, _ = loaded
    before = hash_weights(model)
    assert hash_weights(model) == before
    weight = model.model.layers[1].mlp.up_proj.weight.data
    bits = weight.view(-1).view(torch.int32)
    bits[5] ^= 1
    changed = hash_weights(model)
    assert changed != before
    bits[5] ^= 1
    assert hash_weights(model) == before
    weight[:2] = weight[:2].flip(0)
    assert hash_weights(model) not in (before, changed)
    assert hash_weights(model.to(torch.bfloat16)) != before


def test_tensors_of_any_type_and_alignment_have_a_hash() -> None:
    from assay.backends.hf.weight_hash import hash_weights

    def hash_buffer(tensor: Any) -> str:
        module = torch.nn.Module()
        module.register_buffer("values", tensor)
        return hash_weights(module)

    whole = torch.arange(9, dtype=torch.float32)
    assert hash_buffer(whole[1:]) == hash_buffer(whole[1:].clone())
    kinds = (torch.bool, torch.uint8, torch.int64, torch.bfloat16, torch.float64, torch.complex64)
    tensors = [whole[:n].to(kind) for kind in kinds for n in (0, 1, 7, 9)]
    assert len({hash_buffer(tensor) for tensor in tensors}) == len(tensors)
    assert hash_buffer(whole.view(3, 3)) == hash_buffer(whole.view(3, 3).t().contiguous().t())
    assert hash_buffer(torch.tensor(1.0)) != hash_buffer(torch.tensor(2.0))


@pytest.mark.usefixtures("workdir")
def test_hooks_make_a_model_unknown(loaded: tuple[Any, Any]) -> None:
    model, _ = loaded
    hook = model.model.layers[0].register_forward_hook(lambda *_: None)
    try:
        result = assay.run(ROWS, model=loaded, method="gen", max_tokens=2)
        again = assay.run(ROWS, model=loaded, method="gen", max_tokens=2)
    finally:
        hook.remove()
    assert any("forward hooks" in note for note in result.manifest["notes"])
    assert again.manifest["stats"]["requests_journaled"] == 0
    assert again.manifest["stats"]["requests_cached"] == 0


@pytest.mark.parametrize(
    ("choose", "message"),
    [
        (
            lambda model, tokenizer: model,
            r"without its tokenizer. Fix: pass both: model=\(model, tokenizer\)",
        ),
        (lambda model, tokenizer: (tokenizer, model), "in the wrong order"),
        (lambda model, tokenizer: (model, "gpt2"), "str is not a fast tokenizer"),
        (lambda model, tokenizer: (model,), "is not a transformers model with its tokenizer"),
        (lambda model, tokenizer: 3, "a int is not a model"),
    ],
)
@pytest.mark.usefixtures("workdir")
def test_incomplete_models_are_errors(loaded: tuple[Any, Any], choose: Any, message: str) -> None:
    with pytest.raises(assay.AssayError, match=f"PYTHON-003.*{message}"):
        assay.run(ROWS, model=choose(*loaded))


@pytest.mark.usefixtures("workdir")
def test_arguments_that_load_files_do_not_apply(loaded: tuple[Any, Any]) -> None:
    with pytest.raises(assay.AssayError, match=r"MODEL-002.*dtype decides how a model is loaded"):
        assay.run(ROWS, model=loaded, model_args={"dtype": "float32"})
    with pytest.raises(assay.AssayError, match=r"WORKER-001.*an object of this process"):
        assay.run(ROWS, model=loaded, workers=2)
