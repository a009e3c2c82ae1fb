"""Entries for a model's repository on the hub."""

from __future__ import annotations

from pathlib import Path

import msgspec
import yaml

from assay.results.exchange.hf_eval_results import write
from assay.results.read import StoredRun


def test_a_dataset_of_the_hub_has_an_entry_for_each_method(
    runs: dict[str, StoredRun], tmp_path: Path
) -> None:
    run = StoredRun(runs["choices"].path)
    commit = "0123456789abcdef0123456789abcdef01234567"
    (spec,) = run.manifest.tasks
    spec = msgspec.structs.replace(spec, settings={**spec.settings, "hub": [f"org/letters@{commit}"]})
    run.manifest = msgspec.structs.replace(run.manifest, tasks=(spec,))
    *entries, card = write(run, tmp_path / "out")
    assert [one.name for one in entries] == ["letters_ppl.yaml", "letters_prob.yaml", "letters_gen.yaml"]
    ((entry,), *_) = [yaml.safe_load(one.read_text()) for one in entries]
    assert entry["dataset"] == {"id": "org/letters", "revision": commit}
    head = next(one for one in run.metrics() if one.is_headline and one.method == "ppl" and one.group is None)
    assert head.value is not None
    assert entry["value"] == round(100 * head.value, 4)
    assert "95 % interval" in entry["notes"]
    assert entry["date"].startswith(run.manifest.started[:10])
    assert card.read_text().count("| letters |") == 3


def test_a_local_file_is_only_in_the_table(runs: dict[str, StoredRun], tmp_path: Path) -> None:
    (card,) = write(runs["choices"], tmp_path / "out")
    assert card.name == "model_card_results.md"
    assert not (tmp_path / "out" / ".eval_results").exists()


def test_the_task_of_eval_yaml_is_named(runs: dict[str, StoredRun], tmp_path: Path) -> None:
    run = StoredRun(runs["choices"].path)
    (spec,) = run.manifest.tasks
    said = {**spec.settings["said"], "eval_task": {"id": "letters_hard"}}
    spec = msgspec.structs.replace(spec, settings={**spec.settings, "hub": ["org/letters"], "said": said})
    run.manifest = msgspec.structs.replace(run.manifest, tasks=(spec,))
    first, *_ = write(run, tmp_path / "out")
    (entry,) = yaml.safe_load(first.read_text())
    assert entry["dataset"] == {"id": "org/letters", "task_id": "letters_hard"}
