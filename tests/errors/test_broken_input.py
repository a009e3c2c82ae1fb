"""Each kind of bad input: one clear error that names file, row, column, value and fix; exit status 2."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cli import assay

BROKEN = Path(__file__).parent / "broken"


def mentions(*parts: str) -> tuple[str, ...]:
    return parts


CASES = [
    (
        "missing_column.csv",
        ("--answer-column", "anser"),
        "TABLE-001",
        mentions("'anser'", "'answer'", "'prompt_text'"),
    ),
    (
        "bare_labels.csv",
        (),
        "TABLE-018",
        mentions("column 'label'", "'0', '1'", "--label-names 0=NAME0,1=NAME1"),
    ),
    (
        "answer_not_an_option.csv",
        (),
        "TABLE-011",
        mentions("row 2 (line 3), column 'answer'", "'E'", "A B", "row 4"),
    ),
    ("ragged.csv", (), "SOURCE-005", mentions("row 2 (line 3)", "'B'", "'answer'")),
    ("broken_line.jsonl", (), "SOURCE-006", mentions("row 2 (line 2)")),
    (
        "unknown_key.csv",
        (),
        "TABLE-003",
        mentions("unknown_key.csv.meta.json", "'human_promt'", "'human_prompt'"),
    ),
    (
        "unknown_field.csv",
        (),
        "TABLE-005",
        mentions("unknown_field.csv.meta.json", "{qestion}", "'question'"),
    ),
    ("empty.csv", (), "SOURCE-003", mentions("empty.csv")),
    ("latin1.csv", (), "SOURCE-004", mentions("0xe9", "line 2", "iconv")),
    ("no_such_file.csv", (), "SOURCE-001", mentions("no_such_file.csv")),
    ("notes.docx", (), "SOURCE-002", mentions(".csv")),
    ("not_a_table.json", (), "SOURCE-007", mentions("not_a_table.json")),
    ("twice_the_column.csv", (), "SOURCE-009", mentions("'A'")),
    ("broken.csv.gz", (), "SOURCE-011", mentions("broken.csv.gz")),
    (
        "headerless.csv",
        (),
        "SOURCE-015",
        mentions("line 1", "--no-header --columns question,A,B,answer", "--header"),
    ),
    ("notes_above.csv", (), "SOURCE-015", mentions("line 1", "--header-row 3")),
    ("two_lists.json", (), "SOURCE-016", mentions("'train', 'test'", "--sheet train", "--sheet test")),
    ("two_lists.json", ("--sheet", "tset"), "SOURCE-016", mentions("'tset'", "did you mean 'test'")),
    ("two_separators.csv", (), "SOURCE-017", mentions("--separator ,", "--separator ';'")),
    ("error_cells.xlsx", (), "SOURCE-018", mentions("sheet 'Quiz' row 3, column 'answer'", "B3", "#N/A")),
    ("fine.csv", ("--sheet", "Quiz"), "SOURCE-019", mentions("--sheet has", "omit --sheet")),
    ("latin1.csv", ("--encoding", "utf-99"), "SOURCE-004", mentions("'utf-99'")),
    ("ambiguous_answer.csv", (), "TABLE-010", mentions("column 'answer'", "index0", "index1")),
    ("gap_in_options.csv", (), "TABLE-009", mentions("row 1 (line 2)", "option B")),
    ("empty_row.csv", (), "TABLE-008", mentions("row 2 (line 3)")),
    ("repeated_ids.jsonl", (), "TABLE-012", mentions("column 'id'", "'1'")),
    ("bad_meta.csv", (), "TABLE-002", mentions("bad_meta.csv.meta.json")),
    ("bad_value.csv", (), "TABLE-004", mentions("'data_type'", "'quiz'", "'mcq', 'qa', 'text'")),
    (
        "bad_lengths.csv",
        (),
        "TABLE-017",
        mentions("row 2 (line 3), column 'max_tokens'", "'many'", "row 3", "'0'", "row 4", "'1.5'"),
    ),
    (
        "bad_requests.csv",
        (),
        "TABLE-004",
        mentions("'request_count'", "'-4'", "'sampling_mode'", "'random'", "add up to 0.9, expected 1"),
    ),
    ("unknown_request.csv", (), "TABLE-003", mentions("'requests_count'", "'request_count'")),
    ("bad_template.csv", (), "TABLE-006", mentions("'rounds'", "'round'")),
    ("bad_jinja.csv", (), "TEMPLATE-001", mentions("bad_jinja.csv.meta.json")),
    ("failing_jinja.csv", (), "TABLE-015", mentions("row 1 (line 2)")),
    (
        "fine.csv",
        ("--template", "Q: {question}{% if answer %}!{% endif %}"),
        "TABLE-005",
        mentions("{question} is plain text", "write {{ question }}"),
    ),
    (
        "fine.csv",
        ("--template", "{{ question }}\n{{ 1 / 0 }}"),
        "TABLE-015",
        mentions("row 1 (line 2)", "'template', line 2: ZeroDivisionError: division by zero"),
    ),
    (
        "fine.csv",
        ("--template", "{{ 1 / 0 }}", "--fidelity", "faithful"),
        "TABLE-015",
        mentions("ZeroDivisionError"),
    ),
    ("fine.csv", ("--template", "{{ 'a' * 999999999 }}"), "TEMPLATE-002", mentions("100,000,000 characters")),
    ("failing_jinja.csv", (), "TABLE-015", mentions("failing_jinja.csv.meta.json, line 1")),
    ("bad_value.csv", ("--meta", "nowhere.json"), "TABLE-002", mentions("nowhere.json")),
    ("fine.csv", ("--method", "perplexity"), "USAGE-001", mentions("'perplexity'", "'ppl'")),
    (
        "fine.csv",
        ("--method", "gen,pll"),
        "USAGE-001",
        mentions("unknown method 'pll'", "did you mean 'ppl'"),
    ),
    ("empty_row.csv", ("--data-type", "mcq"), "TABLE-001", mentions("options")),
    ("fine.csv", ("--shots", "3"), "TABLE-013", mentions("3 shots", "only 0 of")),
    ("fine.csv", ("--shots", "1", "--shots-from", "train"), "SOURCE-010", mentions("'train'")),
    (
        "fine.csv",
        ("--model", "openai:x@http://127.0.0.1:9/v1", "--workers", "2"),
        "WORKER-001",
        mentions("a server"),
    ),
    (
        "fine.csv",
        ("--workers", "2", "--model-arg", "num_gpus=0.5"),
        "WORKER-002",
        mentions("num_gpus=0.5", "whole GPUs"),
    ),
    (
        "fine.csv",
        ("--workers", "1", "--model-arg", "num_gpus=4096"),
        "WORKER-002",
        mentions("4096 GPUs", "but this machine has"),
    ),
    (
        "fine.csv",
        ("--model-arg", "num_cpus=2"),
        "WORKER-002",
        mentions("num_cpus=2", "no workers", "--workers N"),
    ),
    ("fine.csv", ("--on", "rya"), "WORKER-003", mentions("'ray'", "--on ray:ADDRESS")),
    (
        "fine.csv",
        ("--on", "ray:ray://head:10001"),
        "WORKER-003",
        mentions("Ray client", "--on ray:HOST:PORT"),
    ),
    (
        "fine.csv",
        ("--on", "ray:127.0.0.1:9"),
        "WORKER-005",
        mentions("at 127.0.0.1:9", "refused", "RAY_ADDRESS"),
    ),
    ("texts.jsonl", ("--method", "gen"), "TABLE-007", mentions("'gen'", "plain texts", "--method ppl")),
    ("texts.jsonl", ("--shots", "2"), "TABLE-016", mentions("2 shots", "plain texts")),
    ("texts.jsonl", ("--stride", "8"), "TABLE-016", mentions("stride", "'classic'", "--windows hf-stride")),
    ("empty_text.jsonl", (), "TABLE-008", mentions("row 2 (line 2), column 'text'", "empty")),
    ("texts.jsonl", ("--window-tokens", "1"), "USAGE-001", mentions("'window_tokens'", "at least 2")),
    ("raising.py", (), "OPENICL-006", mentions("ValueError", "boom")),
    ("no_datasets.py", (), "OPENICL-008", mentions("'_datasets'")),
    ("no_dataset_class.py", (), "USAGE-004", mentions("MultipleChoiceDataset", "'MyDataset' extends none")),
    ("typed_entry.py", (), "OPENICL-009", mentions("typed_entry.py datasets[0]", "'reader_cfg'")),
    ("fine.csv", ("--cot", "base"), "USAGE-007", mentions("--cot", "a table")),
    (
        "fine.csv",
        ("--dataset-arg", "max_len=3"),
        "USAGE-007",
        mentions("a table", "'max_len'", "'max_out_len'"),
    ),
    ("fine.csv", ("--limit", "some"), "USAGE-002", mentions("'some'")),
    ("fine.csv", ("--allow-failures", "few"), "USAGE-020", mentions("--allow-failures", "'few'", "1%")),
    ("fine.csv", ("--shots", "-2"), "USAGE-001", mentions("'shots'", "-2", "at least 0")),
    ("fine.csv", ("--max-tokens", "0"), "USAGE-001", mentions("'max_tokens'", "at least 1")),
    ("fine.csv", ("--temperature", "-1"), "USAGE-001", mentions("'temperature'")),
    ("fine.csv", ("--top-p", "3"), "USAGE-001", mentions("'top_p'")),
    ("fine.csv", ("--temperature", "inf"), "USAGE-001", mentions("'temperature'")),
    ("fine.csv", ("--max-tokens", "0"), "USAGE-001", mentions("'max_tokens'")),
    ("fine.csv", ("--samples", "0"), "USAGE-001", mentions("'samples'")),
    (
        "fine.csv",
        ("--model", "openai:x@http://127.0.0.1:9/v1", "--model-arg", "top_k=-2"),
        "MODEL-002",
        mentions("top_k"),
    ),
    (
        "fine.csv",
        ("--model", "openai:x@http://127.0.0.1:9/v1", "--model-arg", "extra.best_of=0"),
        "MODEL-002",
        mentions("extra.best_of", "a whole number, 1 or more"),
    ),
    ("fine.csv", ("--model-arg", "dtype"), "USAGE-005", mentions("'dtype'")),
    ("fine.csv", ("--model", "hff:x"), "MODEL-001", mentions("'hff'", "'hf'")),
    ("fine.csv", ("--model-arg", "delay=5"), "MODEL-002", mentions("'delay'", "delay_ms")),
    ("fine.csv", ("--model", "hf:/no/such/model"), "MODEL-003", mentions("/no/such/model")),
    ("fine.csv", ("--model", "ultraeval:host/infer"), "MODEL-001", mentions("'host/infer'", "http://")),
    ("fine.csv", ("--model", "openai:m"), "MODEL-001", mentions("http://", "openai:MODEL@")),
    (
        "fine.csv",
        ("--model", "openai:m@http://h/v1", "--model-arg", "key_env=NOT_SET"),
        "MODEL-009",
        mentions("key_env"),
    ),
    (
        "fine.csv",
        ("--method", "ppl", "--model-arg", "kinds=generate"),
        "PLAN-001",
        mentions("'ppl'", "'gen'"),
    ),
    ("fine.csv", ("--chat", "on"), "PLAN-003", mentions("'fine'", "'mock'", "--chat off")),
    ("narrator.jsonl", (), "TABLE-030", mentions("row 2 (line 2), column 'messages'", "'narrator'")),
    ("two_answers.jsonl", (), "TABLE-031", mentions("'3'", "'2'", "--answer-column answer")),
    ("tool_call.jsonl", (), "TABLE-032", mentions("row 1 (line 1), column 'messages'", "'tool'")),
    (
        "unknown_assertion.csv",
        (),
        "TABLE-033",
        mentions("row 2 (line 3), column '__expected'", "'similar'", "'contains-any'"),
    ),
    (
        "two_variables.csv",
        (),
        "TABLE-034",
        mentions("'language', 'input'", "--human-prompt '{language} {input}'"),
    ),
    ("needs_sandbox.jsonl", (), "TABLE-035", mentions("row 1 (line 1), column 'sandbox'")),
    ("unknown_scorer.yaml", (), "TABLE-036", mentions("'use_tools'", "'math'", "'match'")),
    ("broken.yaml", (), "SOURCE-006", mentions("line 2", "broken YAML")),
    (
        "texts.jsonl",
        ("--model", "ultraeval:http://127.0.0.1:1/"),
        "PLAN-004",
        mentions("'texts'", "in windows"),
    ),
]


@pytest.mark.parametrize(("file", "flags", "code", "parts"), CASES, ids=[f"{c[2]}-{c[0]}" for c in CASES])
def test_bad_input(
    workdir: Path, file: str, flags: tuple[str, ...], code: str, parts: tuple[str, ...]
) -> None:
    for source in BROKEN.iterdir():
        if source.is_file():
            shutil.copy(source, workdir)
    model = () if "--model" in flags else ("--model", "mock")
    result = assay("run", file, *model, *flags)
    assert result.status == 2
    assert code in result.err
    for part in parts:
        assert part in result.err
    assert "fix:" in result.err
    assert "Traceback" not in result.err
    # Nothing was begun: the error came before any run folder was made.
    assert not (workdir / "runs").exists()


@pytest.mark.parametrize(
    "flags", [("--seed", "1", "--shots", "1"), ("--method", "ppl"), ("--model-arg", "answer=A")]
)
def test_a_run_folder_of_another_run_is_left_untouched(workdir: Path, flags: tuple[str, ...]) -> None:
    (workdir / "data.csv").write_text("question,A,B,answer\n1+1=,1,2,B\n2+2=,4,5,A\n", encoding="utf-8")
    assert assay("run", "data.csv", "-m", "mock", "--out", "mine").status == 0
    before = {path.name: path.read_bytes() for path in (workdir / "mine").iterdir()}
    result = assay("run", "data.csv", "-m", "mock", "--out", "mine", *flags)
    assert result.status == 2
    assert "STORE-001" in result.err
    assert {path.name: path.read_bytes() for path in (workdir / "mine").iterdir()} == before


def test_a_run_folder_of_another_dataset_or_an_edited_one(workdir: Path) -> None:
    data = workdir / "data.csv"
    data.write_text("question,A,B,answer\n1+1=,1,2,B\n", encoding="utf-8")
    assert assay("run", "data.csv", "-m", "mock", "--out", "mine").status == 0
    data.write_text("question,A,B,answer\n1+1=,1,2,A\n", encoding="utf-8")
    edited = assay("run", "data.csv", "-m", "mock", "--out", "mine")
    assert edited.status == 2
    assert "has changed since" in edited.err
    (workdir / "other.csv").write_text("question,A,B,answer\n1+2=,1,3,B\n", encoding="utf-8")
    other = assay("run", "other.csv", "-m", "mock", "--out", "mine")
    assert "'data.csv', not 'other.csv'" in other.err


def test_a_folder_that_is_no_run_is_left_alone(workdir: Path) -> None:
    (workdir / "data.csv").write_text("question,answer\n1+1=,2\n", encoding="utf-8")
    (workdir / "mine").mkdir()
    (workdir / "mine" / "thesis.tex").write_text("precious", encoding="utf-8")
    result = assay("run", "data.csv", "-m", "mock", "--out", "mine")
    assert result.status == 2
    assert "STORE-002" in result.err
    assert [path.name for path in (workdir / "mine").iterdir()] == ["thesis.tex"]


def test_damaged_and_missing_runs(workdir: Path) -> None:
    (workdir / "data.csv").write_text("question,answer\n1+1=,2\n", encoding="utf-8")
    assert assay("run", "data.csv", "-m", "mock", "--out", "mine").status == 0
    missing = assay("explain", "mine", "nobody")
    assert (missing.status, "STORE-006" in missing.err) == (2, True)
    (workdir / "mine" / "samples.jsonl").write_bytes(b'{"sample": "\xff"}\n')
    damaged = assay("explain", "mine", "nobody")
    assert (damaged.status, "STORE-008 mine/samples.jsonl" in damaged.err) == (2, True)
    (workdir / "mine" / "summary.json").write_text("[{", encoding="utf-8")
    assert "STORE-008" in assay("report", "mine").err
    (workdir / "mine" / "manifest.json").write_text("{", encoding="utf-8")
    assert "STORE-004" in assay("report", "mine").err
    assert "STORE-005" in assay("report", "yours").err
    assert "STORE-005" in assay("explain", "last", "row:1").err


def test_two_datasets_of_one_name(workdir: Path) -> None:
    for folder in ("a", "b"):
        (workdir / folder).mkdir()
        (workdir / folder / "data.csv").write_text("question,answer\n1+1=,2\n", encoding="utf-8")
    result = assay("run", "a/data.csv", "b/data.csv", "-m", "mock")
    assert (result.status, "TABLE-014" in result.err) == (2, True)


def test_settings(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workdir / "data.csv").write_text("question,answer\n1+1=,2\n", encoding="utf-8")
    (workdir / "assay.toml").write_text('modle = "mock"\n', encoding="utf-8")
    result = assay("run", "data.csv")
    assert "USAGE-001" in result.err
    assert "did you mean 'model'" in result.err
    (workdir / "assay.toml").write_text("model = \n", encoding="utf-8")
    assert "USAGE-003" in assay("run", "data.csv").err
    (workdir / "assay.toml").write_bytes(b'seed = "\xff"')
    assert "USAGE-003" in assay("run", "data.csv").err
    (workdir / "assay.toml").unlink()
    monkeypatch.setenv("ASSAY_SHOTS", "many")
    assert "'shots' (from the env)" in assay("run", "data.csv", "-m", "mock").err
    monkeypatch.delenv("ASSAY_SHOTS")
    (workdir / "assay.toml").write_text("[profiles.nightly]\nshots = 1\n", encoding="utf-8")
    unknown = assay("run", "data.csv", "-m", "mock", "--profile", "nigthly").err
    assert "USAGE-030" in unknown
    assert "did you mean 'nightly'" in unknown
    (workdir / "assay.toml").write_text("profiles = 3\n", encoding="utf-8")
    assert "USAGE-032 assay.toml" in assay("run", "data.csv", "-m", "mock").err
    monkeypatch.setenv("ASSAY_CONFIG", "missing.toml")
    assert "USAGE-031" in assay("run", "data.csv", "-m", "mock").err


def test_the_old_command_line_rejects_what_is_unclear(workdir: Path) -> None:
    assert "USAGE-006" in assay("as", "opencompass", "--models", "mock").err
    assert "USAGE-006" in assay("as", "opencompass", "--custom-dataset-path", "x.csv").err
    assert "USAGE-006" in assay("as", "opencompass", "--slurm").err
