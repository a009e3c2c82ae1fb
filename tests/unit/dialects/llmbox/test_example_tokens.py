"""Examples beyond a token limit are omitted as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.classes import compile_one

TEXT = """
class Words(GenerationDataset):
    instruction = "{q}"
    metrics = [Em()]
    def format_instance(self, instance):
        return dict(q=instance["q"], target="yes")
    @property
    def references(self):
        return ["yes"] * len(self.evaluation_data)
"""


@pytest.mark.parametrize(("limit", "n_shown"), [(None, 3), (100, 3), (7, 3), (6, 2), (4, 1), (2, 0)])
def test_examples_beyond_the_tokens_allowed_are_left_out_whole(
    tmp_path: Path, limit: int | None, n_shown: int
) -> None:
    # Tokens are words here. Shots follow each other without a space, so they are 3, 5 and 7 words.
    rows = [{"q": f"row {n}"} for n in range(4)]
    examples = [{"q": f"shot {n}"} for n in range(3)]
    more = {} if limit is None else {"max_example_tokens": str(limit)}
    one = compile_one(tmp_path, TEXT, rows, examples=examples, settings={"shots": 3}, **more)
    shots = [f"shot {n} yes\n\n" for n in range(3)]
    for number, sample in enumerate(one.task.samples()):
        (request,) = one.task.requests(sample)
        assert request.ask.prompt == "".join(shots[:n_shown]) + f"row {number}"
        assert (request.n_shots, request.n_shots_left_out) == (n_shown, 3 - n_shown)
