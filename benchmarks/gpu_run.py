"""How long whole `assay run` commands take on one device, by phase, next to lm-eval's `hf` model.

    python benchmarks/gpu_run.py --data DATA --out DIR                      # 1B and 8B shapes on a GPU
    python benchmarks/gpu_run.py --data DATA --out DIR --peer               # and lm-eval on the same prompts
    python benchmarks/gpu_run.py --data DATA --out DIR --tiny --device cpu  # a trial of this script

Models are Llamas with random weights and SmolLM2's tokenizer: speed does not depend on their values. The
workloads are HellaSwag, MMLU law by one and by two methods, GSM8K, and all of MMLU (57 files, each with the
five examples of its subject). Each command runs in a process of its own and is timed from outside. Printed
for each: wall seconds, seconds by phase, seconds outside of loading weights and of the time between the first
and the last computation, the share of that time in which the device computed, compilations, and the memory of
the process. `gpu_steps.py` measures single generation steps.

lm-eval's `hf` model runs in a process of its own too. It reads its prompts from the runs' own files. It
answers `PEER_REQUESTS` of the likelihoods, and all texts at each of `--peer-batches`; its time excludes its
start. `--equal-texts N` generates N texts one at a time with transformers, in the type of the weights and in
fp32, and counts how many of the run's and of lm-eval's are the same.

`--tokenizer` names a folder with the tokenizer's files, for a machine without the embedded model's package.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

T = TypeVar("T")
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SHAPES = {
    "tiny": (64, 128, 2, 4, 2),
    "1b": (2048, 8192, 16, 32, 8),
    "8b": (4096, 14336, 32, 32, 8),
}
"""Hidden size, size of the feed-forward part, layers, heads, heads of keys and values."""
PEER_REQUESTS = 400
"""lm-eval answers this many likelihoods of a run: its rate does not depend on their number."""


class Workload(NamedTuple):
    """One command."""

    name: str
    datasets: str
    """A pattern of files."""
    shots: str
    """The examples: a file, or the name of a split beside each dataset."""
    n_shots: int
    arguments: Sequence[str]


WORKLOADS = (
    Workload(
        "hellaswag",
        "hellaswag.jsonl",
        "hellaswag_shots.jsonl",
        5,
        ("--method", "ppl", "--ppl-target", "text", "--template", "{question}"),
    ),
    Workload("law_ppl", "law.jsonl", "law_shots.jsonl", 5, ("--method", "ppl")),
    Workload("law_ppl_prob", "law.jsonl", "law_shots.jsonl", 5, ("--method", "ppl,prob")),
    Workload("gsm8k", "gsm8k.jsonl", "gsm8k_shots.jsonl", 8, ("--method", "gen", "--max-tokens", "128")),
    Workload("mmlu", "mmlu/test/*.jsonl", "dev", 5, ("--method", "prob")),
)


def main() -> None:
    """Write models and data, run every command and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of datasets")
    parser.add_argument("--out", type=Path, required=True, help="folder for models, datasets and runs")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="a tiny model and eight rows of each dataset")
    parser.add_argument("--only", help="names of workloads, by comma")
    parser.add_argument("--shapes", default="1b,8b", help="shapes of models, by comma")
    parser.add_argument("--tokenizer", type=Path, help="folder of the tokenizer [the embedded model's]")
    parser.add_argument("--peer", action="store_true", help="also run lm-eval, which must be installed here")
    parser.add_argument("--peer-batches", default="64,256", help="lm-eval's batch sizes for texts, by comma")
    parser.add_argument("--equal-texts", type=int, default=0, help="texts to generate one at a time")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    write_datasets(options.data, options.out, n_rows=8 if options.tiny else None)
    named = options.only.split(",") if options.only else [one.name for one in WORKLOADS]
    for shape in ["tiny"] if options.tiny else options.shapes.split(","):
        model = options.out / f"model-{shape}"
        if not (model / "config.json").is_file():
            write_model(shape, model, options.device, options.tokenizer or find_embedded_tokenizer())
        for workload in WORKLOADS:
            if workload.name in named:
                row = run_command(workload, model, options.out, options.device)
                print(json.dumps({"shape": shape, **row}), flush=True)
        if options.peer:
            for row in in_own_process(
                run_peer, named, model, options.out, options.device, options.peer_batches
            ):
                print(json.dumps({"shape": shape, **row}), flush=True)
        if options.equal_texts and "gsm8k" in named:
            row = compare_texts(model, options.out, options.device, options.equal_texts)
            print(json.dumps({"shape": shape, **row}), flush=True)


def in_own_process(work: Callable[..., list[T]], *arguments: Any) -> list[T]:
    """Return what a function returns in a process of its own, whose memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def find_embedded_tokenizer() -> Path:
    """Return the folder with the tokenizer of the embedded model."""
    from assay.backends.hf.embedded_model import EmbeddedFiles

    return EmbeddedFiles().prepare_path()


def write_model(shape: str, folder: Path, device: str, tokenizer: Path) -> None:
    """Write a Llama with random weights and a tokenizer, without a chat template."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    hidden, inner, layers, heads, key_heads = SHAPES[shape]
    config = LlamaConfig(
        hidden_size=hidden,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        vocab_size=49152,
        max_position_embeddings=8192,
        bos_token_id=1,
        eos_token_id=2,
        tie_word_embeddings=False,
    )
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32 if device == "cpu" else torch.bfloat16)
    with torch.device(device):
        LlamaForCausalLM(config).save_pretrained(folder, max_shard_size="5GB")
    torch.set_default_dtype(torch.float32)
    shutil.copy(tokenizer / "tokenizer.json", folder)
    settings = json.loads((tokenizer / "tokenizer_config.json").read_text("utf-8"))
    settings.pop("chat_template", None)
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


def write_datasets(data: Path, out: Path, *, n_rows: int | None) -> None:
    """Write each dataset and its examples as tables."""
    hellaswag = [_convert_hellaswag(row) for row in _read_lines(data / "hellaswag" / "validation.jsonl")]
    questions = list(_read_lines(data / "gsm8k" / "test.jsonl"))[:256]
    gsm8k = [
        {"question": row["question"], "answer": row["answer"].split("####")[-1].strip()} for row in questions
    ]
    tables = {
        "hellaswag": hellaswag[5:],
        "hellaswag_shots": hellaswag[:5],
        "gsm8k": gsm8k,
        "gsm8k_shots": list(_read_lines(data / "gsm8k" / "train.jsonl"))[:8],
    }
    for path in sorted((data / "mmlu" / "test").glob("*_test.csv")):
        subject = path.name.removesuffix("_test.csv")
        tables[f"mmlu/test/{subject}_test"] = list(_read_mmlu(path))
        tables[f"mmlu/dev/{subject}_dev"] = list(_read_mmlu(data / "mmlu" / "dev" / f"{subject}_dev.csv"))
    tables["law"] = tables["mmlu/test/professional_law_test"][:800]
    tables["law_shots"] = tables["mmlu/dev/professional_law_dev"]
    for name, rows in tables.items():
        path = out / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows[:n_rows]), encoding="utf-8")


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    with open(path, encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _convert_hellaswag(row: dict[str, Any]) -> dict[str, str]:
    options = dict(zip("ABCD", row["endings"], strict=True))
    return {"question": row["ctx"], **options, "answer": "ABCD"[int(row["label"])]}


def _read_mmlu(path: Path) -> Iterator[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            options = {label: row[f"choice{index}"] for index, label in enumerate("ABCD")}
            yield {"question": row["question"], **options, "answer": "ABCD"[int(row["answer"])]}


def run_command(workload: Workload, model: Path, out: Path, device: str, *more: str) -> dict[str, Any]:
    """Run one whole command; return what it took."""
    folder = out / f"run-{workload.name}-{model.name}"
    shutil.rmtree(folder, ignore_errors=True)
    shots = str(out / workload.shots) if workload.shots.endswith(".jsonl") else workload.shots
    command = [
        *(sys.executable, "-m", "assay", "run", *map(str, sorted(out.glob(workload.datasets)))),
        *workload.arguments,
        *("--shots", str(workload.n_shots), "--shots-from", shots, "--shot-policy", "first"),
        *("-m", f"hf:{model}", "--model-arg", f"device={device}", "--chat", "off", "--no-cache"),
        *("--timings", "--progress", "none", "--out", str(folder), *more),
    ]
    with tempfile.TemporaryFile("w+") as printed:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=printed, stderr=printed, text=True)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        if status:
            printed.seek(0)
            raise SystemExit(f"{' '.join(command)} failed:\n{printed.read()[-3000:]}")
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    stats = manifest["stats"]
    computing = stats["model_device_seconds"] / max(stats["model_device_busy_share"], 1e-9)
    return {
        "workload": workload.name,
        "side": "assay",
        "seconds": round(seconds, 2),
        "outside_seconds": round(seconds - stats["seconds_load"] - computing, 2),
        "phases": {
            name.removeprefix("seconds_"): round(n, 2)
            for name, n in stats.items()
            if name.startswith("seconds_")
        },
        "device_busy_share": round(stats["model_device_busy_share"], 3),
        "compilations": stats["model_compilations"],
        "requests": stats["requests"],
        "forward_tokens": stats["model_forward_tokens"],
        "peak_mib": round(usage.ru_maxrss / 1024),
        "notes": [note for note in manifest["notes"] if note.startswith("hf:")],
    }


def run_peer(
    named: Sequence[str], model: Path, out: Path, device: str, text_batches: str
) -> list[dict[str, Any]]:
    """Answer the runs' requests with lm-eval; return its seconds and its rate for each workload."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    rows = []
    dtype = "float32" if device == "cpu" else "bfloat16"
    lm = HFLM(pretrained=str(model), dtype=dtype, device=device, batch_size=64, max_length=4096)
    for name in named:
        samples = list(_read_lines(out / f"run-{name}-{model.name}" / "samples.jsonl"))
        is_text = name == "gsm8k"
        asked = list(_read_asked(samples, "answer" if is_text else "option"))
        if is_text:
            kind, call, batches = "generate_until", lm.generate_until, [*map(int, text_batches.split(","))]
            settings = {"until": [], "max_gen_toks": 128, "do_sample": False}
            requests: list[tuple[Any, ...]] = [(context, dict(settings)) for context, _ in asked]
        else:
            kind, call, batches = "loglikelihood", lm.loglikelihood, [64]
            requests = list(asked[:PEER_REQUESTS])
        instances = [Instance(kind, {}, request, number) for number, request in enumerate(requests)]
        call(instances[: 4 if is_text else 64])
        for batch in batches if instances else ():
            lm.batch_size_per_gpu = batch
            began = time.perf_counter()
            answers = call(instances)
            seconds = time.perf_counter() - began
            rows.append(
                {
                    "workload": name,
                    "side": "lm-eval",
                    "batch": batch,
                    "requests": len(instances),
                    "seconds": round(seconds, 2),
                    "requests_per_s": round(len(instances) / seconds, 1),
                    "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
                }
            )
            if is_text:
                Path(out / f"lm-eval-texts-{model.name}.json").write_text(json.dumps(answers), "utf-8")
    return rows


def compare_texts(model: Path, out: Path, device: str, n: int) -> dict[str, Any]:
    """Return how many of the first texts of a run are those that transformers generates one at a time."""
    workload = next(one for one in WORKLOADS if one.name == "gsm8k")
    run = out / f"run-gsm8k-{model.name}"
    prompts = [context for context, _ in _read_asked(list(_read_lines(run / "samples.jsonl"))[:n], "answer")]
    in_its_type, in_fp32 = (
        _cut_all(in_own_process(generate_singly, model, device, dtype, prompts))
        for dtype in ("auto", "float32")
    )
    equal = {"run_in_its_type": sum(map(str.__eq__, _read_texts(run)[:n], in_its_type))}
    peer = out / f"lm-eval-texts-{model.name}.json"
    if peer.is_file():
        texts = _cut_all(json.loads(peer.read_text("utf-8"))[:n])
        equal["lm_eval_in_its_type"] = sum(map(str.__eq__, texts, in_its_type))
    run_command(workload, model, out, device, "--limit", f"first:{n}", "--model-arg", "dtype=float32")
    equal["run_in_fp32"] = sum(map(str.__eq__, _read_texts(run), in_fp32))
    return {"workload": "gsm8k", "side": "one at a time", "texts": n, "equal": equal}


def _read_texts(run: Path) -> list[str]:
    """Return the texts of a run in the order of its samples."""
    texts = {
        row["request_id"]: row["outcome"]["outputs"][0]["text"]
        for row in _read_lines(run / "responses.jsonl")
    }
    return _cut_all(texts[sample["asks"][0]["id"]] for sample in _read_lines(run / "samples.jsonl"))


def _cut_all(texts: Iterable[str]) -> list[str]:
    """Return the texts up to their first blank line, where the runs stop."""
    return [text.partition("\n\n")[0] for text in texts]


def generate_singly(model: Path, device: str, dtype: str, prompts: Sequence[str]) -> list[str]:
    """Return greedy texts of 128 tokens, one prompt at a time."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    loaded = AutoModelForCausalLM.from_pretrained(model, dtype=dtype).to(device).eval()
    texts = []
    for prompt in prompts:
        given = tokenizer(prompt, return_tensors="pt").to(device)
        with torch.inference_mode():
            whole = loaded.generate(**given, max_new_tokens=128, do_sample=False)
        texts.append(tokenizer.decode(whole[0, given["input_ids"].shape[1] :], skip_special_tokens=True))
    return texts


def _read_asked(samples: Iterable[dict[str, Any]], role: str) -> Iterator[tuple[str, str]]:
    """Yield context and continuation of each request in a role."""
    for sample in samples:
        for ask in sample["asks"]:
            if ask["role"] == role:
                yield sample["contexts"][ask["context"]], ask.get("text", "")


if __name__ == "__main__":
    main()
