"""How long a generation step takes on a GPU, against the time for reading what it must read.

    python benchmarks/gpu_steps.py MODEL_FOLDER [--kernels]

256 rows with 60 to 140 tokens of their own follow a shared prefix of 1,050 tokens. A step must read the
weights once, the prefix's keys and values once, and those of every row. The time for that is computed from
the bandwidth of a copy within the device, measured in the same run. `--kernels` prints where a step's time
goes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from assay.backends.hf.cache_readers import SharedPrefixFeeder
from assay.backends.hf.decoding_trial import prepare_decoding
from assay.backends.hf.loading import load_model
from assay.backends.hf.packed_forward import SharedPrefix
from assay.backends.hf.row_scoring import prepare_packing
from assay.backends.hf.slot_cache import StepShape
from assay.backends.hf.work_counters import Counters

ROWS, PREFIX, LEAST_OWN, STEPS = 256, 1050, 60, 64


def main() -> None:
    """Measure steps and print the result as one line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("model", type=Path, help="folder of a model")
    parser.add_argument("--kernels", action="store_true", help="print the kernels of a step")
    options = parser.parse_args()
    bandwidth = measure_bandwidth()
    loaded = load_model(options.model, dtype="bfloat16", device="cuda")
    trial, decoding = prepare_packing(loaded), prepare_decoding(loaded)
    numbers = torch.Generator().manual_seed(0)

    def draw(n: int) -> tuple[int, ...]:
        return tuple(torch.randint(1, loaded.vocab_size, (n,), generator=numbers).tolist())

    with torch.inference_mode():
        prefix = SharedPrefix().extend_to(loaded, draw(PREFIX), (), ())
        prompts = [(*prefix.ids, *draw(LEAST_OWN + row % 80)) for row in range(ROWS)]
        shape = StepShape(ROWS, LEAST_OWN + 80 + STEPS)
        feeder = SharedPrefixFeeder(loaded, prefix, Counters(), decoding.way, decoding.steps, shape)
        tokens = feeder.join(prompts).argmax(dim=-1)

        def step(n: int) -> float:
            nonlocal tokens
            torch.cuda.synchronize()
            began = time.perf_counter()
            for _ in range(n):
                tokens = feeder.step(tokens).argmax(dim=-1)
            torch.cuda.synchronize()
            return (time.perf_counter() - began) / n

        step(4)  # The first of each shape is recorded.
        seconds = min(step(STEPS // 4) for _ in range(2))
        if options.kernels:
            print_kernels(lambda: step(3))
    needed = count_step_bytes(loaded.model, prefix, [len(prompt) - PREFIX for prompt in prompts])
    result = {
        "step_ms": round(seconds * 1000, 3),
        "bandwidth_gb_per_s": round(bandwidth / 1e9),
        "must_read_gb": round(needed / 1e9, 2),
        "share_of_bandwidth": round(needed / bandwidth / seconds, 3),
        "troubles": [*trial.troubles, *decoding.troubles],
    }
    print(json.dumps(result))


def measure_bandwidth() -> float:
    """Return the bytes per second that a copy within the device reads and writes."""
    numbers = torch.ones(1 << 30, dtype=torch.int32, device="cuda")
    copy = torch.empty_like(numbers)
    copy.copy_(numbers)
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(5):
        copy.copy_(numbers)
    torch.cuda.synchronize()
    return float(5 * 2 * numbers.nbytes / (time.perf_counter() - began))


def count_step_bytes(model: Any, prefix: SharedPrefix, own_lengths: list[int]) -> int:
    """Return how many bytes a step must read: weights but for the input's embeddings, keys and values."""
    embeddings = model.get_input_embeddings().weight
    weights = sum(weight.nbytes for weight in model.parameters())
    is_tied = embeddings.data_ptr() == model.get_output_embeddings().weight.data_ptr()
    per_token = prefix.n_bytes // len(prefix.ids)
    # On average over the measured steps.
    own = sum(own_lengths) + len(own_lengths) * (4 + STEPS // 4)
    return int(weights - (0 if is_tied else embeddings.nbytes) + prefix.n_bytes + own * per_token)


def print_kernels(work: Any) -> None:
    """Print the kernels that take the most time."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as watched:
        work()
    print(watched.key_averages().table(sort_by="cuda_time_total", row_limit=20, max_name_column_width=80))


if __name__ == "__main__":
    main()
