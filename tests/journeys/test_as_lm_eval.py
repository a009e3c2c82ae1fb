"""`assay as lm_eval`: the original's command line, its result files and its tables.

The recorded keys, hashes and values were written by lm-eval 0.4.13 with the same task files and model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli import Result, assay, error_of
from fakes.lm_eval_tasks import write_tasks
from fakes.openai_server import Body, choice, reply, serving

pytest.importorskip("datasets")

RESULT_KEYS = (
    *("results", "groups", "group_subtasks", "configs", "versions", "n-shot", "higher_is_better"),
    *("n-samples", "config", "git_hash", "date", "pretty_env_info", "transformers_version"),
    *("lm_eval_version", "upper_git_hash", "task_hashes", "model_source", "model_name"),
    *("model_name_sanitized", "system_instruction", "system_instruction_sha", "fewshot_as_multiturn"),
    *("chat_template", "chat_template_sha", "total_evaluation_time_seconds"),
)
"""The keys of a results file, of any model."""
LOCAL_KEYS = (
    "tokenizer_pad_token",
    "tokenizer_eos_token",
    "tokenizer_bos_token",
    "eot_token_id",
    "max_length",
)
"""Further keys, of a model with a tokenizer."""
CONFIG_KEYS = (
    *("model", "model_args", "batch_size", "batch_sizes", "device", "use_cache", "limit", "bootstrap_iters"),
    *("gen_kwargs", "random_seed", "numpy_seed", "torch_seed", "fewshot_seed"),
)
TASK_CONFIG_KEYS = [
    *("task", "dataset_path", "dataset_kwargs", "training_split", "test_split", "doc_to_text"),
    *("doc_to_target", "unsafe_code", "doc_to_choice", "description", "target_delimiter"),
    *("fewshot_delimiter", "fewshot_config", "num_fewshot", "metric_list", "output_type", "repeats"),
    *("should_decontaminate", "metadata"),
]
SAMPLE_KEYS = [
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
    *("doc_hash", "prompt_hash", "target_hash", "acc", "acc_norm"),
]
TASK_HASHES = {
    "capitals": "05609f97ac13ab401459c8fb0a9654ef642f8eabb235a3401b2032fbacbe9ecf",
    "sums": "09c974396146ba4f3ee9c45e22dc35527c6944eee23417f19d7ece8f4ffaa856",
    "last": "42fb4f50857b1bb23b988b1d12eef03a2a8cf066ca35a89bf0e3f82b5e09548b",
}
"""Of all documents, prompts with one example each, and targets."""
FIRST_HASHES = {
    "doc_hash": "54b2ce198d816100fd583c830c6ea530b3d8c9856b4552d7b1126863cf707601",
    "prompt_hash": "8688bf2a96e017cca04d571005a960c18c35b4c6f38f9e3fac6648246b1d26aa",
    "target_hash": "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
}


@pytest.fixture
def tasks(workdir: Path, empty_cache: Path) -> Path:
    """Task files and rows in the working folder."""
    write_tasks(workdir)
    return workdir


def run(*flags: str, model: str = "dummy", status: int = 0) -> Result:
    result = assay("as", "lm_eval", "--model", model, "--include_path", "tasks", *flags)
    assert result.status == status, result.out + result.err
    return result


def results_of(folder: str) -> dict[str, Any]:
    (path,) = Path(folder).rglob("results_*.json")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def samples_of(folder: str, task: str) -> list[dict[str, Any]]:
    (path,) = Path(folder).rglob(f"samples_{task}_2*.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def manifest() -> dict[str, Any]:
    (path,) = Path("runs").glob("*/manifest.json")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


# --- files and tables ---


def test_the_files_have_the_originals_keys_and_a_faithful_run_its_prompts(tasks: Path) -> None:
    run(
        *("--tasks", "geo_group,sums,last", "--num_fewshot", "1", "--fidelity", "faithful"),
        *("--output_path", "out", "--log_samples"),
    )
    results = results_of("out")
    assert not [key for key in RESULT_KEYS if key not in results]
    assert not [key for key in CONFIG_KEYS if key not in results["config"]]
    assert list(results["configs"]["capitals"]) == TASK_CONFIG_KEYS
    assert results["configs"]["capitals"]["num_fewshot"] == 1
    assert list(results["results"]["capitals"]) == [
        *("name", "alias", "sample_len"),
        *("acc,none", "acc_stderr,none", "acc_norm,none", "acc_norm_stderr,none"),
    ]
    assert list(results["groups"]["geo_group"]) == [
        *("alias", "name", "sample_len", "acc,none", "acc_stderr,none", "sample_count")
    ]
    assert {name: results["task_hashes"][name] for name in TASK_HASHES} == TASK_HASHES
    first = samples_of("out", "capitals")[0]
    assert list(first) == SAMPLE_KEYS
    assert {name: first[name] for name in FIRST_HASHES} == FIRST_HASHES
    assert first["arguments"]["gen_args_1"]["arg_1"] == " Lyon"
    assert first["target"] == "0"
    assert len(first["resps"]) == len(first["filtered_resps"]) == 3


def test_filters_follow_each_other_and_values_are_named_after_them(tasks: Path) -> None:
    run("--tasks", "sums", "--output_path", "out", "--log_samples")
    assert [(one["filter"], one["doc_id"]) for one in samples_of("out", "sums")] == [
        (name, number) for name in ("strict", "loose") for number in range(6)
    ]
    assert {"exact_match,strict", "exact_match_stderr,loose"} <= set(results_of("out")["results"]["sums"])


def test_groups_in_groups_combine_their_tasks(tasks: Path) -> None:
    Path("tasks/both.yaml").write_text(
        "group: both\ntask:\n  - group: inner\n    task: [last, capitals]\n"
        "    aggregate_metric_list: [{metric: acc, weight_by_size: false}]\n  - sums\n"
        "aggregate_metric_list: [{metric: acc}, {metric: exact_match, filter_list: [strict]}]\n"
    )
    run("--tasks", "both", "--samples", '{"last": [0, 1]}', "-o", "out")
    content = results_of("out")
    results = content["results"]
    last, capitals = results["last"]["acc,none"], results["capitals"]["acc,none"]
    assert results["both::inner"]["acc,none"] == pytest.approx((last + capitals) / 2)
    assert results["both"]["acc,none"] == pytest.approx((2 * last + 8 * capitals) / 10)
    assert results["both"]["exact_match,strict"] == results["sums"]["exact_match,strict"]
    assert results["both"]["sample_count"] == {"acc,none": 10, "exact_match,strict": 6}
    assert content["group_subtasks"]["both"] == ["both::inner", "sums"]


def test_the_tables_are_printed(tasks: Path) -> None:
    printed = run("--tasks", "geo_group").out
    table, groups = printed.split("batch_size: auto\n")[1].split("\n\n")[:2]
    assert [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()][::2] == [
        ["Tasks", "Version", "Filter", "n-shot", "Metric", "", "Value", "", "Stderr"],
        ["Geography", "0.5", "none", "0", "acc", "↑", "0.375", "±", "0.1294"],
        ["", "", "none", "0", "acc_norm", "↑", "0.500", "±", "0.1890"],
        ["", "", "none", "0", "brier_score", "↓", "0.943", "±", "N/A"],
    ]
    assert "\n| - Capitals again|" in table
    assert groups.startswith(
        "| Groups  |Version|Filter|n-shot|Metric|   |Value|   |Stderr|\n|---------|------:|"
    )


@pytest.mark.model
def test_values_of_a_real_model_equal_the_originals(tasks: Path) -> None:
    run(
        *("--tasks", "last", "--num_fewshot", "1", "--fidelity", "faithful", "--output_path", "out", "-s"),
        model="smollm2",
    )
    results = results_of("out")
    assert not [key for key in LOCAL_KEYS if key not in results]
    assert results["tokenizer_eos_token"] == ["<|im_end|>", "2"]
    last = results["results"]["last"]
    expected = {
        "perplexity,none": 1.9430412729831732,
        "perplexity_stderr,none": 0.3656018602373095,
        "acc,none": 0.75,
        "acc_stderr,none": 0.16366341767699427,
    }
    assert {name: last[name] for name in expected} == pytest.approx(expected, rel=1e-4)
    assert samples_of("out", "last")[0]["perplexity"] == pytest.approx(-0.07152429223060608, abs=1e-4)


def test_a_failed_document_has_no_values(tasks: Path) -> None:
    args = ("--model_args", "fail_every=2", "--tasks", "sums", "-o", "out", "-s")
    run(*args, model="mock", status=3)
    results = results_of("out")
    samples = [one for one in samples_of("out", "sums") if one["filter"] == "strict"]
    failed = [one for one in samples if one["metrics"] == []]
    assert failed
    assert all((one["filtered_resps"], one["resps"]) == ([], [[]]) for one in failed)
    assert results["n-samples"]["sums"] == {"original": 6, "effective": 6 - len(failed)}


def test_the_code_of_a_task_is_part_of_its_configuration(tasks: Path) -> None:
    Path("tasks/functions.py").write_text("def keep_two(rows):\n    return rows.select(range(2))\n")
    Path("tasks/coded.yaml").write_text(
        "include: sums.yaml\ntask: coded\nprocess_docs: !function functions.keep_two\n"
    )
    run("--tasks", "coded", "--model_args", "answer=3", "--metadata", "note=mine", "-o", "out")
    config = results_of("out")["configs"]["coded"]
    assert config["process_docs"].startswith("def keep_two(rows):")
    assert (config["metadata"]["answer"], config["metadata"]["note"]) == (3, "mine")
    assert results_of("out")["n-samples"]["coded"] == {"original": 2, "effective": 2}


def test_output_beside_a_json_file(tasks: Path) -> None:
    run("--tasks", "sums", "--output_path", "out/mine.json", "--log_samples")
    assert [path.name.partition("_")[0] for path in sorted(Path("out").iterdir())] == ["mine", "samples"]


def test_replies_without_scores(tasks: Path) -> None:
    run("--tasks", "sums,capitals", "--predict_only", "--output_path", "out")
    results = results_of("out")["results"]
    assert results["sums"]["bypass,strict"] == 999
    assert list(results["capitals"]) == ["name", "alias", "sample_len"]
    assert samples_of("out", "sums")[0]["resps"] == [["lol"]]
    assert manifest()["status"] == "answered"


# --- flags ---


def test_flags_become_settings(tasks: Path) -> None:
    run(
        *("--tasks", "sums", "--limit", "2", "--seed", "0,1,2,7", "--system_instruction", "Be brief."),
        *("--gen_kwargs", "max_gen_toks=4,temperature=0.5", "do_sample=true"),
    )
    record = manifest()
    values = {name: one["value"] for name, one in record["settings"].items()}
    assert (values["limit"], values["seed"], values["chat"]) == ("first:2", 7, "off")
    sampling = record["tasks"][0]["settings"]["sampling"]
    assert (sampling["max_tokens"], sampling["temperature"], sampling["stop"]) == (4, 0.5, ["\n"])
    (line, *_) = Path(next(Path("runs").glob("*/samples.jsonl"))).read_text().splitlines()
    assert json.loads(line)["contexts"] == ["Be brief.1+2="]


def test_a_fraction_of_the_documents_is_rounded_up(tasks: Path) -> None:
    run("--tasks", "sums", "--limit", "0.4", "--output_path", "out", "--log_samples")
    assert results_of("out")["n-samples"]["sums"] == {"original": 6, "effective": 3}
    assert [one["doc_id"] for one in samples_of("out", "sums")][:3] == [0, 1, 2]


def test_documents_by_their_numbers(tasks: Path) -> None:
    Path("chosen.json").write_text('{"sums": [5, 1]}')
    run("--tasks", "sums,last", "--samples", "chosen.json", "--output_path", "out", "--log_samples")
    assert [one["doc_id"] for one in samples_of("out", "sums")][:2] == [1, 5]
    assert len(samples_of("out", "last")) == 8


def test_a_config_file_is_overridden_by_flags(tasks: Path) -> None:
    Path("eval.yaml").write_text(
        "model: dummy\ntasks: [sums]\ninclude_path: tasks\nlimit: 3\nnum_fewshot: 1\nseed: [0, 1, 2, 3]\n"
        "model_args: {answer: '7'}\nlog_samples: true\noutput_path: out\n"
    )
    result = assay("as", "lm_eval", "run", "--config", "eval.yaml", "-L", "2")
    assert result.status == 0, result.err
    results = results_of("out")
    assert results["config"]["limit"] == 2
    assert (results["config"]["fewshot_seed"], results["n-shot"]["sums"]) == (3, 1)
    assert samples_of("out", "sums")[0]["resps"] == [["7"]]


def test_a_task_of_a_named_group_runs_once(tasks: Path) -> None:
    run("--tasks", "capitals,geo_group", "-o", "out")
    assert list(results_of("out")["results"]) == ["capitals", "capitals_brier", "geo_group"]


def test_a_task_file_by_its_path_needs_no_folder(tasks: Path) -> None:
    result = assay("as", "lm_eval", "--model", "dummy", "--tasks", "tasks/su*.yaml", "-o", "out")
    assert result.status == 0, result.err
    assert list(results_of("out")["results"]) == ["sums"]


def test_flags_without_effect_are_noted(tasks: Path) -> None:
    printed = run(
        "--tasks", "sums", "--use_cache", "cache", "--write_out", "--batch_size", "8", "-v", "DEBUG"
    )
    for name in ("--use_cache", "--write_out", "--batch_size", "--verbosity"):
        assert f"{name}: " in printed.err


# --- a server ---


def add(body: Body) -> Body:
    """Return the sum that the last line asks for."""
    asked = body["prompt"] if "prompt" in body else body["messages"][-1]["content"]
    one, other = asked.splitlines()[-1].rstrip("=").split("+")
    return reply(choice(body, str(int(one) + int(other))))


def test_a_chat_server_gets_conversations_and_they_are_logged_as_json(tasks: Path) -> None:
    with serving(add) as server:
        run(
            *("--model_args", f"model=first,base_url={server.url}/chat/completions,num_concurrent=2"),
            *("--tasks", "sums", "--apply_chat_template", "--num_fewshot", "1", "-o", "out", "-s"),
            model="local-chat-completions",
        )
        assert set(server.posted) == {"/v1/chat/completions"}
        assert [one["role"] for one in server.bodies[-1]["messages"]] == ["user", "assistant", "user"]
    results = results_of("out")
    assert results["results"]["sums"]["exact_match,strict"] == 1
    assert (results["model_name"], results["fewshot_as_multiturn"]) == ("first", True)
    (logged,) = samples_of("out", "sums")[0]["arguments"]["gen_args_0"]["arg_0"]
    assert json.loads(logged)[-1] == {"role": "user", "content": "1+2="}


def test_examples_can_share_a_message(tasks: Path) -> None:
    with serving(add) as server:
        run(
            *("--model_args", json.dumps({"model": "first", "base_url": f"{server.url}/chat/completions"})),
            *("--tasks", "sums", "--apply_chat_template", "--fewshot_as_multiturn", "false", "-f", "1"),
            model="local-chat-completions",
        )
        (message,) = server.bodies[-1]["messages"]
        assert message["content"].count("=") == 2


def test_a_text_server(tasks: Path) -> None:
    with serving(add) as server:
        run(
            *("--model_args", "model=first", f"base_url={server.url}/completions", "tokenizer_backend=none"),
            *("--tasks", "sums"),
            model="local-completions",
        )
        assert set(server.posted) == {"/v1/completions"}


# --- ls and validate ---


def test_names_are_listed(tasks: Path) -> None:
    for what, expected in (
        ("tasks", {"capitals", "capitals_brier", "geo", "geo_group", "last", "sums"}),
        ("groups", {"geo_group"}),
        ("subtasks", {"capitals", "capitals_brier", "last", "sums"}),
        ("tags", {"geo"}),
    ):
        result = assay("as", "lm_eval", "ls", what, "--include_path", "tasks")
        listed = {line.split("|")[1].strip() for line in result.out.splitlines()[2:]}
        # An installed lm-eval adds its own names.
        assert expected <= listed
        assert ("sums" in listed) == ("sums" in expected)


def test_task_files_are_validated(tasks: Path) -> None:
    result = assay("as", "lm_eval", "validate", "--tasks", "geo_group,sums", "--include_path", "tasks")
    assert (result.status, "All tasks found and valid" in result.out) == (0, True)
    Path("tasks/bad.yaml").write_text("task: bad\noutput_type: guess\ndataset_path: json\ntest_split: test\n")
    code, what, _ = error_of(assay("as", "lm_eval", "validate", "-t", "bad", "--include_path", "tasks"))
    assert (code, "output_type is 'guess'" in what) == ("LMEVAL-003", True)


# --- errors ---

SERVER = ("--model", "local-completions", "--model_args")


@pytest.mark.parametrize(
    ("flags", "code", "what", "fix"),
    [
        (("--tasks", "capitls"), "USAGE-004", "did you mean 'capitals'", "correct the name"),
        (("--model", "hfx"), "USAGE-006", "did you mean 'hf'", "use one of"),
        (("--model", "ORG/NAME"), "USAGE-006", "'ORG/NAME'", "pretrained=ORG/NAME"),
        (("--model", "sglang"), "USAGE-006", "sglang is not supported", "--model local-completions"),
        (("--model", "hf"), "USAGE-006", "has no pretrained", "--model_args pretrained="),
        ((*SERVER, "model=x"), "USAGE-006", "has no base_url", "base_url=http"),
        (
            (*SERVER, "model=x,base_url=http://h/v1,add_bos_token=True"),
            "USAGE-006",
            "add_bos_token",
            "remove it",
        ),
        (("--model_args", "answer"), "USAGE-006", "found 'answer', expected key=value", "key=value"),
        (("--model_args", '{"answer": x}'), "USAGE-006", "not valid JSON", "double quotes"),
        (("--model_args", "answr=7"), "USAGE-006", "did you mean 'answer'", "use some of"),
        (("--limit", "1.5"), "USAGE-006", "--limit is 1.5", "--limit 0.1"),
        (("--limit", "-1"), "USAGE-006", "--limit is -1", "--limit 100"),
        (("--limit", "1", "--samples", "{}"), "USAGE-006", "both select documents", "remove one"),
        (("--samples", '{"sum": [0]}'), "USAGE-006", "did you mean 'sums'", "--tasks"),
        (("--samples", '{"sums": [9]}'), "USAGE-007", "document 9 of task 'sums'", "0 to 5"),
        (("--num_fewshots", "1"), "USAGE-006", "unrecognized arguments: --num_fewshots", "--help"),
        (("--seed", "1,2"), "USAGE-006", "found 2 seeds", "--help"),
        (("--batch_size", "many"), "USAGE-006", "--batch_size is 'many'", "--batch_size 8"),
        (("--log_samples",), "USAGE-006", "no folder is named", "--output_path DIR"),
        (("--fewshot_as_multiturn",), "USAGE-006", "needs a conversation", "--apply_chat_template"),
        (("--apply_chat_template", "rag"), "USAGE-006", "a server has its own", "without a name"),
        (
            ("--model_args", "enable_thinking=True,think_end_token=</think>", "--tasks", "capitals"),
            "USAGE-006",
            "'capitals' score given answers",
            "remove enable_thinking",
        ),
        (("--config", "none.yaml"), "USAGE-006", "cannot read 'none.yaml'", "name a YAML file"),
        (("--include_path", "nowhere"), "USAGE-004", "'nowhere', which is not a folder", "folder"),
    ],
)
def test_wrong_flags(tasks: Path, flags: tuple[str, ...], code: str, what: str, fix: str) -> None:
    usual = ("--tasks", "sums", "--model", "dummy", "--include_path", "tasks")
    found = error_of(assay("as", "lm_eval", *usual, *flags))
    assert found[0] == code
    assert what in found[1], found
    assert fix in found[2], found


def test_a_chat_server_needs_conversations(tasks: Path) -> None:
    args = ("--model_args", "model=x,base_url=http://127.0.0.1:1/v1/chat/completions", "--tasks", "sums")
    result = assay("as", "lm_eval", "--model", "local-chat-completions", *args, "--include_path", "tasks")
    assert "--apply_chat_template" in error_of(result)[2]


def test_code_of_the_model_runs_only_if_confirmed(tasks: Path) -> None:
    Path("tasks/unsafe.yaml").write_text("include: sums.yaml\ntask: unsafe\nunsafe_code: true\n")
    code, what, fix = error_of(
        assay("as", "lm_eval", "--model", "dummy", "--tasks", "unsafe", "--include_path", "tasks")
    )
    assert (code, fix.partition(" ")[2].startswith("add --confirm_run_unsafe_code")) == ("USAGE-006", True), (
        what
    )
    run("--tasks", "unsafe", "--confirm_run_unsafe_code")


# --- --include-path of assay run ---


def test_folders_of_task_files_for_assay_run(tasks: Path) -> None:
    (tasks / "more").mkdir()
    (tasks / "more" / "mine.yaml").write_text("include: ../tasks/sums.yaml\ntask: mine\n")
    result = assay(
        "run", "lm_eval:sums,mine", "-m", "mock", "--include-path", "tasks", "--include-path", "more"
    )
    assert result.status == 0, result.err
    Path("assay.toml").write_text('model = "mock"\ninclude_path = ["tasks"]\n')
    assert assay("check", "lm_eval:sums").status == 0
    by_argument = assay("check", "lm_eval:mine", "--dataset-arg", "include_path=more")
    assert by_argument.status == 0, by_argument.err


def test_folders_of_task_files_in_python(tasks: Path) -> None:
    import assay as library

    finished = library.run("lm_eval:sums", model="mock", include_path=[tasks / "tasks"])
    assert finished.metrics[0]["task"] == "sums"


def test_included_folders_have_no_effect_on_a_table(tasks: Path) -> None:
    Path("data.csv").write_text("question,answer\n1+1=,2\n")
    result = assay("run", "data.csv", "-m", "mock", "--include-path", "tasks")
    assert error_of(result)[0] == "USAGE-007"
