"""lm-eval's task files, from the YAML to requests and scores; expected texts are written by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.app.lm_eval_tasks import build_lm_eval_tools, find_task_folders, load_task_index
from assay.core.compilation import Compilation
from assay.core.errors import AssayError, UsageError
from assay.core.limit import Limit
from assay.core.method import Method
from assay.core.request import Generate, Labels, Request, Span
from assay.core.response import Completion, Finish, Likelihood, Outcome, Output, Response
from assay.core.task import AnsweredRequest, TaskSettings, TaskSpec
from assay.dialects.lm_eval.compile import build_summary_groups, compile_task_files
from assay.dialects.lm_eval.detect import is_task_file, split_names
from assay.dialects.lm_eval.evaluation import Evaluation
from assay.dialects.lm_eval.selection import select_tasks
from assay.dialects.lm_eval.task import LmEvalTask

pytest.importorskip("datasets")

ROWS = [
    {"q": "Capital of France?", "options": ["Rome", "Paris"], "answer": 1},
    {"q": "Capital of Italy?", "options": ["Rome", "Paris", "Oslo"], "answer": 0},
    {"q": "Capital of Norway?", "options": ["Oslo", "Rome"], "answer": 0},
]
CHOICE = """
task: capitals
dataset_path: json
dataset_kwargs:
  data_files: {test: rows.jsonl, train: shots.jsonl}
test_split: test
output_type: multiple_choice
doc_to_text: "Question: {{q}}\\nAnswer:"
doc_to_choice: options
doc_to_target: answer
"""
TEXT = """
task: sums
dataset_path: json
dataset_kwargs:
  data_files: {test: rows.jsonl}
test_split: test
doc_to_text: "{{q}}"
doc_to_target: "{{answer}}"
"""


@pytest.fixture
def write(tmp_path: Path, empty_cache: Path) -> Callable[..., Path]:
    def write(yaml: str, rows: Sequence[Any] = ROWS, name: str = "task.yaml", **files: str) -> Path:
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (tmp_path / "shots.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:2]))
        for stem, text in files.items():
            (tmp_path / f"{stem}.py").write_text(text)
        (tmp_path / name).write_text(yaml)
        return tmp_path / name

    return write


def compile_file(path: Path, **settings: Any) -> list[Compilation[LmEvalTask]]:
    tools = build_lm_eval_tools(str(path), find_task_folders((), {}), None)
    return compile_task_files([str(path)], TaskSettings(**settings), tools)


def first_requests(compiled: Compilation[LmEvalTask], number: int = 0) -> Sequence[Request]:
    return compiled.task.requests(list(compiled.task.samples())[number])


def prompt_of(request: Request) -> str:
    assert isinstance(request.ask, Span | Generate | Labels)
    assert isinstance(request.ask.prompt, str)
    return request.ask.prompt


def score(
    compiled: Compilation[LmEvalTask], answer: Callable[[Request], Outcome], number: int = 0
) -> dict[str, Any]:
    sample = list(compiled.task.samples())[number]
    answers = [
        AnsweredRequest(request, Response(request.id, request.key, answer(request)))
        for request in compiled.task.requests(sample)
    ]
    author = compiled.task.scorers()[0].args["author"]  # type: ignore[union-attr]
    assert isinstance(author, Evaluation)
    values = author.values(sample, answers)
    assert isinstance(values, dict)
    return values


def likelihood(number: float, *, is_greedy: bool = False) -> Likelihood:
    return Likelihood(number, 1, 1, 1, is_greedy, 1)


def reply(text: str) -> Completion:
    return Completion((Output(text, Finish.END, 1),), 1)


def test_options_follow_the_prompt(write: Callable[..., Path]) -> None:
    (one,) = compile_file(write(CHOICE))
    requests = first_requests(one)
    assert [prompt_of(request) for request in requests] == [
        "Question: Capital of France?\nAnswer: Rome",
        "Question: Capital of France?\nAnswer: Paris",
    ]
    assert [request.ask.start for request in requests if isinstance(request.ask, Span)] == [36, 36]
    assert one.task.spec.methods == (Method.PPL,)
    sample = next(iter(one.task.samples()))
    assert (sample.choices, sample.gold) == (("Rome", "Paris"), (1,))


def test_options_are_scored_by_sum_and_by_length(write: Callable[..., Path]) -> None:
    (one,) = compile_file(write(CHOICE))
    # "Rome" has 4 characters, "Paris" 5: the sum prefers Rome, the mean per character Paris.
    values = score(one, lambda request: likelihood((-4.0, -4.5)[request.index]))
    assert values == {"acc": 0.0, "acc_norm": 1.0}


def test_mutual_information_asks_for_options_alone(write: Callable[..., Path]) -> None:
    (one,) = compile_file(write(CHOICE + "metric_list: [{metric: acc}, {metric: acc_mutual_info}]\n"))
    requests = first_requests(one)
    assert [(request.role, prompt_of(request)) for request in requests[2:]] == [
        ("unconditional", " Rome"),
        ("unconditional", " Paris"),
    ]
    sums = {"option": (-1.0, -2.0), "unconditional": (-1.0, -9.0)}
    assert score(one, lambda request: likelihood(sums[request.role][request.index])) == {
        "acc": 0.0,
        "acc_mutual_info": 1.0,
    }


@pytest.mark.parametrize("is_faithful", [False, True])
def test_first_examples_are_written_like_the_question(write: Callable[..., Path], is_faithful: bool) -> None:
    more = "fewshot_split: train\nfewshot_config: {sampler: first_n}\nnum_fewshot: 2\n"
    more += 'description: "Solve.\\n\\n"\n'
    (one,) = compile_file(write(CHOICE + more), is_faithful=is_faithful)
    assert prompt_of(first_requests(one, 2)[0]) == (
        "Solve.\n\n"
        "Question: Capital of France?\nAnswer: Paris\n\n"
        "Question: Capital of Italy?\nAnswer: Rome\n\n"
        "Question: Capital of Norway?\nAnswer: Oslo"
    )


def test_a_document_is_never_its_own_example(write: Callable[..., Path]) -> None:
    (one,) = compile_file(write(CHOICE + "fewshot_split: test\nnum_fewshot: 2\n"))
    for number, row in enumerate(ROWS):
        assert prompt_of(first_requests(one, number)[0]).count(str(row["q"])) == 1


def test_faithful_draws_continue_from_document_to_document(write: Callable[..., Path]) -> None:
    import random

    rows = [{"q": f"Q{n}", "options": ["a", "b"], "answer": 0} for n in range(8)]
    path = write(CHOICE + "training_split: train\nnum_fewshot: 1\n", rows)
    (path.parent / "shots.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (one,) = compile_file(path, is_faithful=True)
    generator = random.Random(1234)
    drawn = [generator.sample(rows, 1)[0]["q"] for _ in rows]
    shown = [prompt_of(first_requests(one, n)[0]).partition("\n")[0] for n in range(8)]
    assert shown == [f"Question: {question}" for question in drawn]


def test_contexts_instead_of_options(write: Callable[..., Path]) -> None:
    rows = [{"parts": ["Ann", "Bob"], "after": "is tired.", "label": 1}]
    yaml = CHOICE.replace('"Question: {{q}}\\nAnswer:"', "label").replace("options", "parts")
    yaml = yaml.replace("doc_to_target: answer", "doc_to_target: after")
    (one,) = compile_file(write(yaml, rows))
    assert [prompt_of(request) for request in first_requests(one)] == ["Ann is tired.", "Bob is tired."]
    assert score(one, lambda request: likelihood(-float(request.index)))["acc"] == 0.0
    assert score(one, lambda request: likelihood(float(request.index)))["acc"] == 1.0


def test_replies_are_filtered_and_compared(write: Callable[..., Path]) -> None:
    rows = [{"q": "2+2?", "answer": "so #### 4"}]
    filters = """
generation_kwargs: {until: ["Q:"], max_gen_toks: 9, do_sample: false, temperature: 0.7}
filter_list:
  - name: strict
    filter: [{function: regex, regex_pattern: "#### (\\\\d+)"}, {function: take_first}]
  - name: last
    filter: [{function: regex, regex_pattern: "(\\\\d+)", group_select: -1}, {function: take_first}]
metric_list: [{metric: exact_match, regexes_to_ignore: ["(?s).*#### "]}]
"""
    (one,) = compile_file(write(TEXT + filters, rows))
    ask = first_requests(one)[0].ask
    assert isinstance(ask, Generate)
    assert (ask.sampling.stop, ask.sampling.max_tokens, ask.sampling.temperature) == (("Q:",), 9, 0.0)
    assert score(one, lambda _: reply("It is 4")) == {"exact_match,strict": 0.0, "exact_match,last": 1.0}
    assert score(one, lambda _: reply("#### 4 or 5")) == {"exact_match,strict": 1.0, "exact_match,last": 0.0}


def test_without_generation_kwargs_a_blank_line_ends_a_reply(write: Callable[..., Path]) -> None:
    (one,) = compile_file(write(TEXT, [{"q": "2+2?", "answer": "4"}]))
    ask = first_requests(one)[0].ask
    assert isinstance(ask, Generate)
    assert (ask.sampling.stop, ask.sampling.max_tokens) == (("\n\n",), 256)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("max_gen_toks: 0", "max_gen_toks is 0, expected a whole number of tokens, 1 or more"),
        ("max_new_tokens: many", "max_new_tokens is 'many', expected a whole number of tokens"),
        ("temperature: -1", "temperature is -1, expected a number, 0 or more"),
        ("top_p: 3", "top_p is 3, expected a number above 0 and at most 1"),
    ],
)
def test_sampling_out_of_range_is_an_error(write: Callable[..., Path], settings: str, message: str) -> None:
    rows = [{"q": "2+2?", "answer": "4"}]
    with pytest.raises(AssayError) as caught:
        compile_file(write(f"{TEXT}generation_kwargs: {{{settings}}}\n", rows))
    assert f"generation_kwargs.{message}" in str(caught.value)


def test_sampling_that_has_no_effect_may_have_any_value(write: Callable[..., Path]) -> None:
    greedy = "generation_kwargs: {do_sample: false, temperature: -1, top_p: 0, max_gen_toks: '9'}\n"
    (one,) = compile_file(write(TEXT + greedy, [{"q": "2+2?", "answer": "4"}]))
    ask = first_requests(one)[0].ask
    assert isinstance(ask, Generate)
    assert (ask.sampling.temperature, ask.sampling.top_p, ask.sampling.max_tokens) == (0.0, 1.0, 9)


def test_a_column_in_single_braces_is_noted(write: Callable[..., Path]) -> None:
    (one,) = compile_file(write(TEXT.replace("{{q}}", "{{q}} {q}"), [{"q": "2+2?", "answer": "4"}]))
    assert "{q} in doc_to_text is plain text; {{q}} inserts the column" in " ".join(one.notes)


def test_repeats_vote(write: Callable[..., Path]) -> None:
    steps = "[{function: majority_vote}, {function: take_first}]"
    vote = f"repeats: 3\nfilter_list: [{{name: vote, filter: {steps}}}]\n"
    (one,) = compile_file(write(TEXT + vote, [{"q": "2+2?", "answer": "4"}]))
    assert len(first_requests(one)) == 3
    assert score(one, lambda request: reply(("5", "4", "4")[request.index])) == {"exact_match": 1.0}


def test_whole_texts_have_perplexities(write: Callable[..., Path]) -> None:
    rolling = TEXT + "output_type: loglikelihood_rolling\n"
    (one,) = compile_file(write(rolling, [{"q": "", "answer": "two words"}]))
    values = score(one, lambda _: likelihood(-6.0))
    assert values == {"word_perplexity": (-6.0, 2), "byte_perplexity": (-6.0, 9), "bits_per_byte": (-6.0, 9)}


def test_authors_functions_run(write: Callable[..., Path]) -> None:
    code = """
from lm_eval.api.filter import Filter
from lm_eval.utils import general_detokenize

def process_docs(dataset):
    return dataset.map(lambda doc: {"q": general_detokenize(doc["q"])})

def process_results(doc, results):
    return {"length": len(results[0]), "right": float(results[0] == doc["answer"])}

class Last(Filter):
    def apply(self, resps, docs):
        return [[one[-1] for one in replies] for replies in resps]
"""
    keys = """
process_docs: !function helpers.process_docs
process_results: !function helpers.process_results
metric_list: [{metric: right, aggregation: mean, higher_is_better: true}, {metric: length}]
filter_list: [{name: own, filter: [{function: !function helpers.Last}, {function: take_first}]}]
"""
    (one,) = compile_file(write(TEXT + keys, [{"q": "It is n't 4 .", "answer": "4"}], helpers=code))
    assert prompt_of(first_requests(one)[0]) == "It isn't 4."
    assert score(one, lambda _: reply("at 4")) == {"length": 1, "right": 1.0}


def test_a_group_weights_tasks_by_their_size(write: Callable[..., Path], tmp_path: Path) -> None:
    write(CHOICE, name="one.yaml")
    write(CHOICE.replace("capitals", "others"), name="two.yaml")
    group = "group: both\ntask: [capitals, {task: others, num_fewshot: 0}]\n"
    write(group + "aggregate_metric_list: [{metric: acc}]\n", name="group.yaml")
    index = load_task_index(find_task_folders((str(tmp_path),), {}))
    selection = select_tasks(["both"], index)
    assert [task.name for task in selection.tasks] == ["capitals", "others"]
    (made,) = build_summary_groups(selection, [describe_task("capitals", 3), describe_task("others", 1)])
    assert (made.name, made.metric, made.joining) == ("both", "acc", "weighted_average")
    assert made.weights == {"capitals": 3.0, "others": 1.0}


def test_a_group_has_one_score_for_each_filter(write: Callable[..., Path], tmp_path: Path) -> None:
    write(CHOICE, name="one.yaml")
    write(CHOICE.replace("capitals", "others"), name="two.yaml")
    group = "group: both\ntask: [capitals, others]\n"
    write(group + "aggregate_metric_list: [{metric: acc, weight_by_size: false}]\n", name="group.yaml")
    selection = select_tasks(["both"], load_task_index(find_task_folders((str(tmp_path),), {})))
    two = describe_task("capitals", 3, ["acc,loose", "acc,strict"], ["loose", "strict"])
    strict, loose = two, describe_task("others", 1, ["acc"], ["strict"])
    made = build_summary_groups(selection, [strict, loose])
    assert [(one.metric, one.subsets) for one in made] == [
        ("acc,loose", (("capitals", "acc,loose"),)),
        ("acc,strict", (("capitals", "acc,strict"), ("others", "acc"))),
    ]


def describe_task(
    name: str, n_samples: int, metrics: Sequence[str] = ("acc",), filters: Sequence[str] = ("none",)
) -> TaskSpec:
    settings = {"metrics": list(metrics), "filters": list(filters)}
    return TaskSpec(name, "lm_eval", "both", "", (Method.PPL,), n_samples, n_samples, settings)


def test_overlapping_groups_run_each_task_once(write: Callable[..., Path], tmp_path: Path) -> None:
    write(CHOICE, name="one.yaml")
    write(CHOICE.replace("capitals", "others"), name="two.yaml")
    write("group: both\ntask: [capitals, others]\n", name="both.yaml")
    write("group: some\ntask: [others]\n", name="some.yaml")
    write("group: shots\ntask: [{task: others, num_fewshot: 2}]\n", name="shots.yaml")
    index = load_task_index(find_task_folders((str(tmp_path),), {}))
    selection = select_tasks(["both", "some", "capitals"], index)
    assert [task.name for task in selection.tasks] == ["capitals", "others"]
    assert [group.name for group in selection.groups] == ["both", "some"]
    with pytest.raises(UsageError) as raised:
        select_tasks(["both", "shots"], index)
    assert str(raised.value.problems[0].what) == (
        "the task 'others' is in 'both' and in 'shots' with different values of 'num_fewshot'"
    )


def test_includes_and_patterns(write: Callable[..., Path], tmp_path: Path) -> None:
    write(CHOICE, name="base_yaml")
    write("include: base_yaml\ntask: capitals_short\nnum_fewshot: 1\ntag: geography\n", name="short.yaml")
    write("include: base_yaml\ntask: capitals_long\ntag: [geography]\n", name="long.yaml")
    index = load_task_index(find_task_folders((str(tmp_path),), {}))
    for name in ("geography", "capitals_*"):
        selected = select_tasks([name], index)
        assert [task.name for task in selected.tasks] == ["capitals_long", "capitals_short"]
    assert selected.tasks[1].config["num_fewshot"] == 1


def test_an_index_is_read_from_its_cache_until_a_file_changes(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    write(CHOICE)
    assert "capitals" in load_task_index(find_task_folders((str(tmp_path),), {}))
    write(CHOICE.replace("task: capitals", "task: cities"))
    assert set(load_task_index(find_task_folders((str(tmp_path),), {})).names) >= {"cities"}


def test_names_are_detected(write: Callable[..., Path], tmp_path: Path) -> None:
    path = write(CHOICE)
    assert is_task_file("lm_eval:hellaswag")
    assert is_task_file(str(path))
    assert is_task_file(str(tmp_path))
    (tmp_path / "other.yaml").write_text("tests: []\n")
    assert not is_task_file(str(tmp_path / "other.yaml"))
    assert split_names("lm_eval:a, b") == ["a", "b"]


@pytest.mark.parametrize(
    ("yaml", "code", "parts"),
    [
        ("task: [unclosed\n", "LMEVAL-001", ("invalid YAML", "line")),
        ("include: nowhere\ntask: x\ndoc_to_text: q\n", "LMEVAL-001", ("cannot read", "nowhere")),
        ("group: g\ntask: [no_such_task]\n", "LMEVAL-002", ("'no_such_task'", "no task, group or tag")),
        (
            CHOICE + "doc_to_txt: q\n",
            "LMEVAL-003",
            ("unknown key 'doc_to_txt'", "did you mean 'doc_to_text'"),
        ),
        (CHOICE.replace("multiple_choice", "choices"), "LMEVAL-003", ("output_type is 'choices'",)),
        (CHOICE + "metric_list: [{metric: accuracy}]\n", "LMEVAL-003", ("has no metric 'accuracy'",)),
        (TEXT + "metric_list: [{metric: exact_mach}]\n", "LMEVAL-003", ("there is no metric 'exact_mach'",)),
        (
            TEXT + "filter_list: [{name: f, filter: [{function: regexp}]}]\n",
            "LMEVAL-003",
            ("filter 'regexp'",),
        ),
        (CHOICE + "process_docs: !function nowhere.f\n", "LMEVAL-004", ("nowhere.py does not exist",)),
        (CHOICE.replace("test_split: test", "test_split: tset"), "LMEVAL-005", ("no split 'tset'", "'test'")),
        (CHOICE.replace("{{q}}", "{{question}}"), "LMEVAL-006", ("'question' is undefined", "Capital of")),
        (CHOICE.replace("doc_to_choice: options", "doc_to_choice: q"), "LMEVAL-006", ("expected a list",)),
        ("class: !function x.Task\ntask: own\n", "LMEVAL-004", ("x.py does not exist",)),
    ],
)
def test_a_mistake_is_reported_before_the_run(
    write: Callable[..., Path], yaml: str, code: str, parts: Sequence[str]
) -> None:
    path = write(yaml)
    with pytest.raises(AssayError) as caught:
        compile_file(path)
    message = str(caught.value)
    assert code in message
    for part in parts:
        assert part in message, message


def test_a_method_that_does_not_fit(write: Callable[..., Path]) -> None:
    with pytest.raises(AssayError, match=r"LMEVAL-007.*generate_until.*--method gen"):
        compile_file(write(TEXT, [{"q": "2+2?", "answer": "4"}]), methods=(Method.PPL,))


def test_a_limit_keeps_the_first(write: Callable[..., Path]) -> None:
    (one,) = compile_file(write(CHOICE), limit=Limit(2, "first"))
    assert [sample.fields["q"] for sample in one.task.samples()] == [row["q"] for row in ROWS[:2]]


def test_thoughts_are_not_part_of_the_answer(write: Callable[..., Path]) -> None:
    path = write(TEXT + "generation_kwargs: {until: ['.']}\n", [{"q": "2 + 2?", "answer": "4"}])
    arguments = {"think_end_token": "</think>"}
    (one,) = compile_file(path, dataset_args=arguments)
    (request,) = first_requests(one)
    assert isinstance(request.ask, Generate)
    assert request.ask.sampling.stop == ()  # A stop sequence would end the thoughts.
    assert score(one, lambda _: reply("Two. And two.</think> 4. Done"))["exact_match"] == 1.0
    (faithful,) = compile_file(path, dataset_args=arguments, is_faithful=True)
    (request,) = first_requests(faithful)
    assert isinstance(request.ask, Generate)
    assert request.ask.sampling.stop == (".",)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("doc_to_target: answer", "doc_to_target: anser", "doc_to_target gives 'anser'"),
        ("doc_to_target: answer", 'doc_to_target: "{{7}}"', "doc_to_target gives 7"),
    ],
)
def test_a_task_without_any_right_option_is_an_error(
    write: Callable[..., Path], old: str, new: str, what: str
) -> None:
    with pytest.raises(AssayError) as raised:
        compile_file(write(CHOICE.replace(old, new), ROWS))
    assert f"no document has a right option: in document 1, {what}" in raised.value.problems[0].what


@pytest.mark.parametrize("step", ["regex_pattern: '(a'", "regexp: a"])
def test_wrong_arguments_of_a_filter_are_an_error(write: Callable[..., Path], step: str) -> None:
    keys = f"filter_list: [{{name: x, filter: [{{function: regex, {step}}}]}}]\n"
    with pytest.raises(AssayError) as raised:
        compile_file(write(TEXT + keys, [{"q": "2 + 2?", "answer": "4"}]))
    assert "filter 'x': the step regex with" in raised.value.problems[0].what


def test_data_of_a_function_needs_no_path(write: Callable[..., Path]) -> None:
    text = CHOICE.replace(
        "dataset_path: json\ndataset_kwargs:\n  data_files: {test: rows.jsonl, train: shots.jsonl}\n", ""
    )
    code = (
        "import datasets\n\n\ndef load(**_):\n"
        "    rows = [{'q': 'Capital of France?', 'options': ['Rome', 'Paris'], 'answer': 1}]\n"
        "    return {'test': datasets.Dataset.from_list(rows)}\n"
    )
    (one,) = compile_file(write(f"{text}custom_dataset: !function loading.load\n", loading=code))
    assert ("data", "custom_dataset") in one.facts
    assert len(first_requests(one)) == 2


def test_the_direction_of_a_metric_is_known_only_if_stated(write: Callable[..., Path]) -> None:
    listed = "metric_list:\n  - metric: !function own.size\n  - metric: ter\n  - metric: exact_match\n"
    text = f"{TEXT}{listed}"
    (one,) = compile_file(write(text, own="def size(*_, **__):\n    return 1\n"))
    scoring = one.task.scoring
    assert [scoring.stated_direction(name) for name in ("size", "ter", "exact_match")] == [None, False, True]
    assert scoring.higher_is_better()["size"]


@pytest.mark.parametrize("is_faithful", [True, False])
def test_only_a_faithful_run_scores_the_white_space_of_a_chat_template(
    write: Callable[..., Path], is_faithful: bool
) -> None:
    arguments = {"apply_chat_template": "true"}
    (one,) = compile_file(write(CHOICE), is_faithful=is_faithful, is_chat=True, dataset_args=arguments)
    asks = [request.ask for request in first_requests(one)]
    assert [ask.scores_white_space for ask in asks if isinstance(ask, Span)] == [is_faithful] * 2
