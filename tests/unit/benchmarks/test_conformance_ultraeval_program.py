"""The comparison with UltraEval's program: its files, rows and calls."""

from __future__ import annotations

import json
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.conformance_ultraeval_program import CASES, Compared, _differences, _Files, section
from benchmarks.ultraeval_rows import N_ROWS, accepted_rows
from benchmarks.ultraeval_server import serving
from fakes.transforms import FREE, GEN

PARAMS = {"temperature": 0.3, "top_k": 5}


def files(folder: Path, **changed: Any) -> _Files:
    folder.mkdir()
    row = {
        "data": {"target_scores": {}},
        "prompt_inputs": ["a"],
        "raw_outputs": ["x"],
        "eval_results": {"pass_k": changed.get("passed", [True, False])},
        "ground_truth": changed.get("truth", "x"),
    }
    (folder / "instance.jsonl").write_text(json.dumps(row) + "\n")
    value = changed.get("value", 0.5)
    (folder / "final_metrics.json").write_text(
        json.dumps({"instance_result": {"m": [value]}, "overall_result": {"m": value}})
    )
    (folder / "config.json").write_text(json.dumps({"fewshot": 0, "log_dir": str(folder)}))
    return _Files(folder)


def test_differences_are_found_part_by_part(tmp_path: Path) -> None:
    one = files(tmp_path / "one")
    sent = {"a": PARAMS}
    # The order in which programs end, and what is sent beyond the file, are no differences.
    same = files(tmp_path / "same", passed=[False, True])
    assert dict(_differences("gen", [one, same], [sent, {"a": {**PARAMS, "seed": 0}}], PARAMS)) == {}
    other = files(tmp_path / "other", truth=["x"], value=0.25)
    assert dict(_differences("gen", [one, other], [sent, {"a": {"temperature": 0.3}}], PARAMS)) == {
        "requests": "parameters top_k",
        "instance.jsonl": "ground_truth",
        "values": "instance_result, overall_result",
    }
    assert dict(_differences("gen", [one, same], [sent, {}], PARAMS)) == {"requests": "1 texts were not sent"}


def test_the_table_counts_equal_tasks_and_lists_the_others() -> None:
    found = {"a_a_gen": {}, "b_b_gen": {"values": "overall_result"}}
    one = Compared(CASES[0], 3, found, {"c_c_gen": "the original: ValueError; "}, Counter({"seed": 2}))
    text = section([one], ["d_d_gen"])
    assert "| every gen task | 3 | 2 | 2 | 2 | 1 | 2 |" in text
    assert "values, case “every gen task”: overall_result (1 tasks, such as `b_b_gen`)" in text
    assert "not finished, the original: ValueError (1, such as `c_c_gen`)" in text
    assert "no rows could be made for 1 tasks" in text
    assert "Assay also sends `seed`." in text


def test_rows_have_the_shape_that_all_transforms_accept(tmp_path: Path) -> None:
    two = 'def transform(data, n, r, name):\n    a, b = data["target_scores"]\n    q, c = data["question"]\n'
    two += '    return {"input": q + c, "output": a, "processed_output": b}\n'
    for name, script in (("free", FREE), ("gen", GEN), ("two", two)):
        (tmp_path / f"{name}.py").write_text(script)
    usual = accepted_rows("x", [(tmp_path / "free.py", "t"), (tmp_path / "gen.py", "t")], with_options=True)
    assert usual is not None
    assert len(usual) == N_ROWS
    assert len(usual[0]["target_scores"]) == 4
    special = accepted_rows("x", [(tmp_path / "two.py", "t")], with_options=True)
    assert special is not None
    assert (len(special[0]["target_scores"]), len(special[0]["question"])) == (2, 2)
    (tmp_path / "none.py").write_text("def transform(data, n, r, name):\n    raise ValueError\n")
    assert accepted_rows("x", [(tmp_path / "none.py", "t")], with_options=False) is None


def test_the_server_logs_what_it_is_sent_and_follows_stop_texts() -> None:
    with serving() as server:

        def ask(params: dict[str, Any], *texts: str) -> list[Any]:
            body = json.dumps({"params": params, "instances": texts}).encode()
            asked = urllib.request.Request(server.url, body)
            with urllib.request.urlopen(asked) as reply:
                return list(json.loads(reply.read()))

        assert ask({}, "one", "two") == ask({}, "one", "two")
        assert all("a" not in reply for reply in ask({"stop": ["a"]}, *map(str, range(40))))
        (numbers,) = ask({"prompt_logprobs": 0}, "one two three")
        assert len(numbers) > 1
        assert max(numbers) < 0
        assert [len(body["instances"]) for body in server.reset()] == [2, 2, 40, 1]
        assert server.reset() == []
