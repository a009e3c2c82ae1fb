"""The classic harness in an environment of its own, so that its dependencies never meet Assay's.

    python -m benchmarks.peers            # makes .venv-peers/lm-eval and prints its python

Made once and then found again. Needs a package index, but no model hub.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / ".venv-peers" / "lm-eval"
LM_EVAL = "0.4.13"
# torch first and alone: asked for by name it comes as the CPU build where one is at hand. The harness's
# own extra `hf` brings accelerate and peft, without which its transformers model cannot be imported.
STEPS = (("torch==2.13.0",), (f"lm-eval[hf]=={LM_EVAL}", "transformers>=5.0,<6", "gguf"))


def peer_python(given: str | None = None) -> Path:
    """Return the python that has lm-eval: the one named, else that of `.venv-peers`, made if need be."""
    python = Path(given) if given else FOLDER / "bin" / "python"
    if not given and not (FOLDER / ".ready").is_file():
        _make(python)
    found = subprocess.run(
        [
            str(python),
            "-c",
            "import importlib.metadata as m, accelerate, peft; print(m.version('lm-eval'))",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode or found.stdout.strip() != LM_EVAL:
        said = (found.stderr or found.stdout).strip().rpartition("\n")[2]
        raise SystemExit(
            f"{python} has no usable lm-eval[hf]=={LM_EVAL} ({said}). "
            "Fix: name another with --peer-python, or leave it away to have one made"
        )
    return python


def _make(python: Path) -> None:
    print(f"making .venv-peers/{FOLDER.name} ...", file=sys.stderr)
    venv.create(FOLDER, with_pip=True, clear=True)
    for packages in STEPS:
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
    (FOLDER / ".ready").touch()


if __name__ == "__main__":
    print(peer_python(sys.argv[1] if len(sys.argv) > 1 else None))
