"""Find out why two runs have different numbers: the data of `assay diff`."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.errors import Problem, UsageError
from assay.results.manifest_differences import find_manifest_differences, find_result_differences
from assay.results.read import StoredRun
from assay.results.run_difference import LayerCount, RunDifference, SampleDifference
from assay.results.run_pair import RunPair
from assay.results.sample_difference import (
    TOLERANCE,
    Layer,
    LayerDifference,
    RunSample,
    find_first_difference,
    iter_differences,
)


def diff(
    a: StoredRun,
    b: StoredRun,
    methods: Sequence[str] = (),
    *,
    n_examples: int = 3,
    tolerance: float = TOLERANCE,
) -> RunDifference:
    """Find the first layer in which each sample of two runs differs."""
    counts = dict.fromkeys(Layer, 0)
    examples: dict[Layer, list[SampleDifference]] = {layer: [] for layer in Layer}
    n_same = 0
    with RunPair(a, b, methods) as pair:
        for one, other in pair.iterate_samples():
            finding = find_first_difference(one, other, pair.methods, tolerance)
            if finding is None:
                n_same += 1
                continue
            counts[finding.layer] += 1
            if len(examples[finding.layer]) < n_examples:
                examples[finding.layer].append(_example(one, other, finding))
        return RunDifference(
            str(a.path),
            str(b.path),
            tuple(find_result_differences(a.metrics(), b.metrics(), pair.names)),
            tuple(find_manifest_differences(a.manifest, b.manifest, pair.names)),
            pair.match.by,
            pair.methods,
            len(pair),
            pair.n_only[0],
            pair.n_only[1],
            n_same,
            tuple(LayerCount(layer, n, tuple(examples[layer])) for layer, n in counts.items()),
        )


def diff_sample(
    a: StoredRun, b: StoredRun, wanted: str, methods: Sequence[str] = (), *, tolerance: float = TOLERANCE
) -> SampleDifference:
    """Return all differences between two runs for one sample, named as in the first run."""
    sample = a.find_sample(wanted)
    with RunPair(a, b, methods) as pair:
        for one, other in pair.iterate_samples():
            if (one.record.task, one.record.sample.id) == (sample.task, sample.sample.id):
                return _example(one, other, *iter_differences(one, other, pair.methods, tolerance))
    raise UsageError(
        Problem(
            "COMPARE-007",
            f"the sample {sample.sample.id!r} of {a.path.name!r} is not in {b.path.name!r}",
            "name a sample that both runs have; `assay diff` without --sample shows some of them",
        )
    )


def _example(one: RunSample, other: RunSample, *findings: LayerDifference) -> SampleDifference:
    return SampleDifference(one.record.task, one.record.sample.id, other.record.sample.id, findings)
