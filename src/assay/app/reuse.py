"""Decide whether the answers of an earlier run are reused, and explain it to the user.

A run is identified by its requests and its model's identity. For a model behind a server, the identity is
only as good as what the server reports: the same address may serve another model today.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from assay.app.settings import RunSettings
from assay.core.model import ModelIdentity
from assay.core.python_objects import is_python_name
from assay.core.run import RunManifest, RunStatus
from assay.core.tally import Tally
from assay.results.read import StoredRun
from assay.results.store import JOURNAL, read_manifest

FINISHED = (RunStatus.COMPLETE, RunStatus.ANSWERED)


def needs_start_over(folder: Path, manifest: RunManifest, values: RunSettings) -> bool:
    """Return whether a finished run is not reused because its server may serve another model now."""
    if values.reuse or values.retry_failed or not _find_unidentified_models(manifest):
        return False
    earlier = read_manifest(folder)
    return earlier is not None and earlier.status in FINISHED


def start_over_note(manifest: RunManifest, archived: Path) -> str:
    """Return why all requests are sent again, and how to reuse the finished run."""
    server = _find_unidentified_models(manifest)[0]
    flag = "--model-arg" if server is manifest.model else "--judge-arg"
    if is_python_name(server.name):
        argument = "model_args" if server is manifest.model else "judge_args"
        return (
            f"all prompts are sent again, and the finished run is now in {archived}: {server.name} may "
            f'answer otherwise now. To reuse finished runs, name its version: {argument}={{"version": "1"}}'
        )
    return (
        f"all requests are sent again, and the finished run is now in {archived}: {server.name} does not "
        f"report which model it runs. To reuse finished runs, name the model: {flag} model=NAME (in `assay "
        "as ultraeval`: --model_args url=URL,model=NAME)"
    )


def copy_journal(earlier: StoredRun, folder: Path) -> tuple[str, ...]:
    """Give a new run the responses of an earlier one, whatever model sent them; return a note about it."""
    journal = folder / JOURNAL
    if journal.exists() or not (earlier.path / JOURNAL).is_file():
        return ()
    shutil.copyfile(earlier.path / JOURNAL, journal)
    return (f"reuses the answers of {earlier.manifest.model.name}, from {earlier.path}",)


def reuse_note(manifest: RunManifest, tally: Tally) -> tuple[str, ...]:
    """Return how many answers of a served model were reused, and what is known of the model."""
    model = manifest.model
    sources = {"an earlier start of this run": tally.n_journaled, "the answer cache": tally.n_cached}
    reused = [f"{n:,} from {source}" for source, n in sources.items() if n]
    if not reused or model.server is None:
        return ()
    return (
        f"{tally.n_journaled + tally.n_cached:,} of {tally.n_requests:,} responses were reused, "
        f"{' and '.join(reused)}: {_describe_identity(model)}; --fresh sends all requests again",
    )


def _describe_identity(model: ModelIdentity) -> str:
    if is_python_name(model.name):
        what = "its version" if model.server == "named" else "a hash of its code"
        return f"{model.name} is identified by {what}"
    if model.server == "unknown":
        return f"{model.name} does not report which model it runs, and the run does not name it"
    if model.server == "named":
        return "the server does not report which model it runs, so its name alone identifies it"
    facts = ", ".join(f"{name} {value}" for name, value in model.reported.items())
    return f"the server reports the same model as before{f' ({facts})' if facts else ''}"


def _find_unidentified_models(manifest: RunManifest) -> list[ModelIdentity]:
    models = [manifest.model, *([manifest.judge] if manifest.judge is not None else [])]
    return [one for one in models if one.server == "unknown"]
