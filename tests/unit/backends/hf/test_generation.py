from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from assay.backends.hf.generation import Draft, choose_tokens, new_draft, reset_draft
from assay.backends.registry import open_backend
from assay.core.ids import make_random
from assay.core.prompt import Message, Prompt
from assay.core.request import Generate, Request, Sampling, make_request
from assay.core.response import Completion, Failure, Finish, Output, Response
from fakes.sampling import sample_token

MakeModel = Callable[..., Path]

PROMPTS = [
    "What is the capital of France?",
    "hello",
    "Question: which of these is a fruit?\nA. apple\nB. stone\nAnswer:",
    "one two three four five six seven eight nine ten",
    "日本語",
]


def requests(prompts: Sequence[Prompt], sampling: Sampling) -> list[Request]:
    return [
        make_request("t", str(n), "gen", "answer", 0, Generate(p, sampling)) for n, p in enumerate(prompts)
    ]


def write(backend: Any, prompts: Sequence[Prompt], sampling: Sampling) -> list[tuple[Output, ...]]:
    asked = requests(prompts, sampling)
    found: dict[str, Response] = {r.request_id: r for r in backend.run(asked)}
    texts = []
    for one in asked:
        outcome = found[one.id].outcome
        assert isinstance(outcome, Completion)
        texts.append(outcome.outputs)
    return texts


@lru_cache(maxsize=1)
def load_reference(folder: Path) -> tuple[Any, Any]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    return tokenizer, AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def reference(
    folder: Path, prompt: str, max_tokens: int, ends: Sequence[int], *, special: bool = False
) -> str:
    """Write greedily with transformers' own loop, one prompt alone."""
    import torch
    from transformers import GenerationConfig

    tokenizer, model = load_reference(folder)
    ids = torch.tensor([tokenizer.encode(prompt, add_special_tokens=special)])
    config = GenerationConfig(
        do_sample=False, max_new_tokens=max_tokens, eos_token_id=list(ends), pad_token_id=ends[0]
    )
    model.generation_config = config
    out = model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=config)
    text: str = tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True)
    return text


@pytest.mark.parametrize("family", ["llama", "gemma2", "gpt2"])
def test_greedy_equals_transformers_own(make_model: MakeModel, family: str) -> None:
    folder = make_model(family)
    outputs = write(open_backend(f"hf:{folder}", {}), PROMPTS, Sampling(max_tokens=40))
    for prompt, (output,) in zip(PROMPTS, outputs, strict=True):
        assert output.text == reference(folder, prompt, 40, ends=[1, 3])


@pytest.mark.model
def test_smollm2_equals_transformers_own(smollm2: Any) -> None:
    outputs = write(smollm2, PROMPTS[:3], Sampling(max_tokens=24))
    for prompt, (output,) in zip(PROMPTS, outputs, strict=False):
        assert output.text == reference(smollm2._source, prompt, 24, ends=[0, 2])


@pytest.mark.model
def test_smollm2_writes_alike_in_any_company(shared_data: Path) -> None:
    lines = (shared_data / "gsm8k" / "test.jsonl").read_text(encoding="utf-8").splitlines()[:7]
    rows = [json.loads(line) for line in lines]
    head = f"Question: {rows[0]['question']}\nAnswer: {rows[0]['answer']}\n\n"
    prompts = [f"{head}Question: {row['question']}\nAnswer:" for row in rows[1:]]
    limits = [3, 14, 6, 14, 2, 9]
    asked = [
        make_request(
            "t", str(n), "gen", "answer", 0, Generate(prompt, Sampling(max_tokens=limit, stop=("\n\n",)))
        )
        for n, (prompt, limit) in enumerate(zip(prompts, limits, strict=True))
    ]
    texts = []
    for max_batch in (1, 3):
        backend: Any = open_backend("smollm2", {"max_batch": str(max_batch)})
        texts.append({r.request_id: r.outcome for r in backend.run(asked)})
        backend.close()
    assert texts[0] == texts[1]


@pytest.mark.model
def test_smollm2_answers_in_a_conversation(smollm2: Any) -> None:
    prompt = (Message("user", "What is the capital of France?"),)
    ((output,), (prefilled,)) = write(
        smollm2,
        [prompt, (*prompt, Message("assistant", "The capital of France is"))],
        Sampling(max_tokens=20),
    )
    assert output.finish is Finish.END
    assert "Paris" in output.text
    assert "<|" not in output.text
    assert prefilled.text.startswith(" Paris")


def test_checkpoint_settings_do_not_leak(make_model: MakeModel) -> None:
    plain = write(open_backend(f"hf:{make_model()}", {}), PROMPTS, Sampling(max_tokens=30))
    hot = write(
        open_backend(f"hf:{make_model(sampling_defaults=True)}", {}), PROMPTS, Sampling(max_tokens=30)
    )
    assert plain == hot


@pytest.mark.parametrize(
    "sampling", [Sampling(max_tokens=24), Sampling(max_tokens=24, temperature=1.0, seed=5)]
)
def test_batches_do_not_change_texts(make_model: MakeModel, sampling: Sampling) -> None:
    where = f"hf:{make_model()}"
    expected = write(open_backend(where, {"max_batch": "1"}), PROMPTS, sampling)
    for args in ({"max_batch": "7"}, {"batch_tokens": "20"}, {}):
        assert write(open_backend(where, args), PROMPTS, sampling) == expected
    order = list(range(len(PROMPTS)))
    make_random(1, "order").shuffle(order)
    shuffled = write(open_backend(where, {}), [PROMPTS[n] for n in order], sampling)
    assert shuffled == [expected[n] for n in order]


def test_several_end_tokens(make_model: MakeModel) -> None:
    folder = make_model()
    (output,) = write(open_backend(f"hf:{folder}", {}), ["hello"], Sampling(max_tokens=12))[0]
    backend: Any = open_backend(f"hf:{folder}", {})
    ids = backend._tokenizer.encode(output.text, add_special_tokens=False)
    # The third token it would write, made an end token: the text now ends before it.
    written: Any = open_backend(f"hf:{make_model(ends=(1, _nth_written(folder, 2)))}", {})
    (ended,) = write(written, ["hello"], Sampling(max_tokens=12))[0]
    assert ended.finish is Finish.END
    assert ended.n_tokens <= 3
    assert output.text.startswith(ended.text)
    assert len(ids) > 0
    assert {
        1,
        3,
    } <= written._end_detector.end_ids  # Its own EOS, and the end of turn that the vocabulary knows.


def _nth_written(folder: Path, n: int) -> int:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = torch.tensor([tokenizer.encode("hello", add_special_tokens=False)])
    out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=n + 1)
    return int(out[0, ids.shape[1] + n])


def test_length_is_visible_and_capped_by_the_context(make_model: MakeModel) -> None:
    backend = open_backend(f"hf:{make_model(context=64)}", {})
    asked = requests(["hello", "yes " * 100], Sampling(max_tokens=500))
    found = {r.request_id: r.outcome for r in backend.run(asked)}
    first, second = found[asked[0].id], found[asked[1].id]
    assert isinstance(first, Completion)
    if first.outputs[0].finish is Finish.LENGTH:
        assert first.n_prompt_tokens + first.outputs[0].n_tokens == 64
    assert isinstance(second, Failure)
    assert second.kind == "too_long"
    zero = next(iter(backend.run(requests(["x"], Sampling(max_tokens=0)))))
    assert isinstance(zero.outcome, Failure)


def test_stop_strings_spread_over_tokens(make_model: MakeModel) -> None:
    backend: Any = open_backend(f"hf:{make_model()}", {})
    ((full,),) = write(backend, ["hello"], Sampling(max_tokens=40))
    text = full.text
    tokenizer = backend._tokenizer
    for begin in range(1, 9):
        for length in (1, 2, 5, 9):
            stop = text[begin : begin + length]
            if "�" in stop or not stop:
                continue
            ((output,),) = write(backend, ["hello"], Sampling(max_tokens=40, stop=(stop, "never in it")))
            assert (output.text, output.finish) == (text[: text.find(stop)], Finish.STOP)
            assert output.n_tokens <= full.n_tokens
    assert tokenizer is not None


def test_rows_that_end_on_different_stops_do_not_wait_for_each_other(make_model: MakeModel) -> None:
    backend: Any = open_backend(f"hf:{make_model()}", {})
    full = write(backend, PROMPTS, Sampling(max_tokens=40))
    # Each row's own text gives the stop that ends it; all rows get all of them.
    stops = tuple(
        output.text[3:5] for (output,) in full if len(output.text) > 5 and "�" not in output.text[3:5]
    )
    ended = write(backend, PROMPTS, Sampling(max_tokens=40, stop=stops))
    for (whole,), (cut,) in zip(full, ended, strict=True):
        places = [at for stop in stops if (at := whole.text.find(stop)) >= 0]
        assert cut.text == (whole.text[: min(places)] if places else whole.text)


def test_stop_that_is_a_special_token(make_model: MakeModel) -> None:
    backend: Any = open_backend(f"hf:{make_model(chat=True)}", {})
    backend._load()
    draft = new_draft((5,), Sampling(stop=("<|im_start|>",)), None, "k", 0)
    draft.ids = [10, 11, 2]
    backend._end_detector.check(draft)
    assert draft.output is not None
    assert draft.output.finish is Finish.STOP
    ended = new_draft((5,), Sampling(stop=("</s>",)), None, "k", 0)
    ended.ids = [10, 1]
    backend._end_detector.check(ended)
    assert ended.output is not None
    assert ended.output.finish is Finish.END  # A stop equal to the end token's text changes nothing.


def test_sampling_follows_the_seed_and_the_repeat(make_model: MakeModel) -> None:
    where = f"hf:{make_model()}"
    backend = open_backend(where, {})
    (outputs,) = write(backend, ["hello"], Sampling(max_tokens=12, temperature=1.0, seed=1, n=4))
    assert len({output.text for output in outputs}) > 1
    assert write(
        open_backend(where, {}), ["hello"], Sampling(max_tokens=12, temperature=1.0, seed=1, n=4)
    ) == [outputs]
    assert write(backend, ["hello"], Sampling(max_tokens=12, temperature=1.0, seed=2, n=4)) != [outputs]
    ask = Generate("hello", Sampling(max_tokens=12, temperature=1.0))
    repeats = [make_request("t", "s", "gen", "answer", index, ask) for index in range(4)]
    texts = {r.outcome.outputs[0].text for r in backend.run(repeats) if isinstance(r.outcome, Completion)}
    assert len(texts) > 1


def test_top_p_and_temperature_narrow_the_choice(make_model: MakeModel) -> None:
    backend = open_backend(f"hf:{make_model()}", {})
    ((greedy,),) = write(backend, ["hello"], Sampling(max_tokens=16))
    ((tiny_p,),) = write(backend, ["hello"], Sampling(max_tokens=16, temperature=1.0, top_p=1e-6))
    ((cold,),) = write(backend, ["hello"], Sampling(max_tokens=16, temperature=1e-4))
    assert tiny_p.text == cold.text == greedy.text


def test_drawn_tokens_have_the_right_frequencies() -> None:
    import torch

    probs = torch.tensor([0.1, 0.5, 0.05, 0.35])
    draft = new_draft((0,), Sampling(temperature=1.0, top_p=0.8), None, "k", 0)
    draft.random = make_random(0, "frequencies")
    counts = [0] * 4
    for _ in range(2000):
        counts[int(choose_tokens(probs.log()[None], [draft]))] += 1
    assert counts[0] == counts[2] == 0  # 0.5 alone does not reach 0.8; 0.5 and 0.35 do.
    assert counts[1] / 2000 == pytest.approx(0.5 / 0.85, abs=0.04)


def test_the_last_digits_of_the_logits_do_not_turn_a_draw() -> None:
    import torch

    torch.manual_seed(5)
    # As many near equals as there are in the tail of a real vocabulary.
    logits = torch.randn(5000) / 1000
    other = logits + 1e-7 * torch.randn(5000)
    for top_p in (1.0, 0.9):
        for number in range(200):
            drafts = [new_draft((0,), Sampling(temperature=1.0, top_p=top_p), None, "k", 0) for _ in range(2)]
            for draft in drafts:
                draft.random = make_random(number, "digits")
            one, two = choose_tokens(torch.stack([logits, other]), drafts).tolist()
            assert one == two


def test_rows_are_sampled_together_as_each_alone() -> None:
    import torch

    generator = torch.Generator().manual_seed(3)
    settings = [(0.0, 1.0), (1.0, 1.0), (0.7, 0.9), (1.3, 0.5), (0.2, 1.0), (1.0, 1e-6), (2.0, 0.99)]

    def drafts() -> list[Draft]:
        made = []
        for number, (temperature, top_p) in enumerate(settings):
            draft = new_draft((0,), Sampling(temperature=temperature, top_p=top_p), None, "k", number)
            reset_draft(draft)
            made.append(draft)
        return made

    together, alone = drafts(), drafts()
    for size in (5, 1000, 49_152):
        logits = 4 * torch.randn((len(settings), size), generator=generator)
        logits[3, 2] = torch.nan
        expected = [
            int(row.argmax()) if draft.sampling.temperature <= 0 else sample_token(row, draft)
            for row, draft in zip(logits, alone, strict=True)
        ]
        expected[3] = -1
        assert choose_tokens(logits, together).tolist() == expected


def test_greedy_repeats_are_written_once(make_model: MakeModel) -> None:
    backend = open_backend(f"hf:{make_model()}", {})
    (three,) = write(backend, ["hello"], Sampling(max_tokens=8, n=3))
    assert len(three) == 3
    assert len(set(three)) == 1
    written = backend.stats()["generated_tokens"]
    assert written == three[0].n_tokens
    asked = [
        *requests(["hello"], Sampling(max_tokens=8)),
        make_request("t", "9", "gen", "answer", 1, Generate("hello", Sampling(max_tokens=8))),
    ]
    assert len(list(backend.run(asked))) == 2
    assert backend.stats()["generated_tokens"] == 2 * written


def test_the_first_samples_do_not_wait_for_all_others(make_model: MakeModel) -> None:
    """On a CPU few texts are begun at once: what is asked first is known early."""
    backend = open_backend(f"hf:{make_model()}", {})
    asked = requests([f"number {n}" for n in range(600)], Sampling(max_tokens=1))
    order = [response.request_id for response in backend.run(asked)]
    first = {one.id for one in asked[:256]}
    assert set(order[:256]) == first
