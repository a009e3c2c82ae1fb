"""`assay.run`: evaluate a model from a script, a notebook, a test or a training loop."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from assay.app.api.event_loop import run_off_loop
from assay.app.api.objects import Datasets, Model, NamedObjects, Rows
from assay.app.api.progress import open_observer
from assay.app.api.result import RunResult
from assay.app.run import run as evaluate
from assay.app.settings import resolve_settings
from assay.app.table_flags import FLAGS_OF_KEYS, TABLE_FLAGS
from assay.core.errors import Problem, UsageError
from assay.core.python_objects import providing_objects
from assay.dialects.table.meta import AnswerIs, DataType, Match, PplTarget, SeveralRight

Names = str | Sequence[str]
Args = Mapping[str, Any]
_PAIRS = ("model_args", "judge_args", "dataset_args")
_SEVERAL = ("method", "stop", "include_path", "benchmarks_from", "track")


def run(
    data: Datasets,
    *,
    # The model.
    model: Model | None = None,
    model_args: Args | None = None,
    label: str | None = None,
    chat: Literal["auto", "on", "off"] | None = None,
    thinking: str | int | bool | None = None,
    concurrency: int | None = None,
    batch: bool | None = None,
    workers: int | None = None,
    on: str | None = None,
    worker_timeout: float | None = None,
    budget: str | None = None,
    prices: Mapping[str, Any] | None = None,
    # How it is asked.
    method: Names | None = None,
    shots: int | None = None,
    shots_from: str | Path | Rows | None = None,
    shot_policy: Literal["first", "random"] | None = None,
    template: str | Mapping[str, Any] | None = None,
    human_prompt: str | None = None,
    bot_prompt: str | None = None,
    shuffle_options: bool | None = None,
    cot: str | None = None,
    # How it answers.
    max_tokens: int | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    stop: Names | None = None,
    seed: int | None = None,
    samples: int | None = None,
    # The data.
    limit: int | str | None = None,
    split: str | None = None,
    name: str | None = None,
    data_type: DataType | None = None,
    input_columns: Names | None = None,
    context_columns: Names | None = None,
    options: Names | None = None,
    answer_column: str | None = None,
    answer_is: AnswerIs | None = None,
    distractors: Names | None = None,
    label_names: Sequence[str] | Mapping[Any, str] | None = None,
    messages_column: str | None = None,
    no_answers: bool | None = None,
    group_by: str | None = None,
    cluster: str | None = None,
    meta: str | Path | None = None,
    table: Mapping[str, Any] | None = None,
    sheet: str | None = None,
    header: bool | None = None,
    header_row: int | None = None,
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    quotes: bool | None = None,
    encoding: str | None = None,
    decimal_comma: bool | None = None,
    dialect: str | None = None,
    dataset_args: Args | None = None,
    data_root: str | Path | None = None,
    include_path: str | Path | Iterable[str | Path] | None = None,
    benchmarks_from: str | Path | Iterable[str | Path] | None = None,
    stream: bool | None = None,
    # How it is scored.
    match: Match | None = None,
    several_right: SeveralRight | None = None,
    ppl_target: PplTarget | None = None,
    score_by: Literal["sum", "per_token", "per_char", "per_byte", "pmi"] | None = None,
    fidelity: Literal["corrected", "faithful"] | None = None,
    judge: Model | None = None,
    judge_args: Args | None = None,
    windows: Literal["classic", "hf-stride", "gptq"] | None = None,
    window_tokens: int | None = None,
    stride: int | None = None,
    # The run.
    out: str | Path | None = None,
    runs_dir: str | Path | None = None,
    cache: bool | None = None,
    fresh: bool | None = None,
    reuse: bool | None = None,
    retry_failed: bool | None = None,
    keep_going: bool | None = None,
    allow_failures: int | str | None = None,
    stage: Literal["all", "infer", "score"] | None = None,
    answers_from: str | Path | None = None,
    keep_media: int | str | None = None,
    offline: bool | None = None,
    track: Names | None = None,
    profile: str | None = None,
    progress: bool | None = None,
) -> RunResult:
    """Evaluate a model on one or more datasets and return the result.

    >>> result = assay.run("data.csv", model="smollm2")
    >>> result.accuracy.low > 0.6

    The data are files, names of benchmarks, or rows in memory:

    >>> assay.run([{"question": "2 + 2 =", "answer": "4"}], model="hf:Qwen/Qwen3-0.6B")
    >>> assay.run(pandas.read_sql(query, connection), options=["a", "b", "c"], answer_column="key")
    >>> assay.run({"easy": easy_rows, "hard": hard_rows}, model="openai:gpt-5-mini")

    The model is a name, a function, or a loaded transformers model with its tokenizer:

    >>> assay.run("data.csv", model=my_function)  # def my_function(prompt: str) -> str
    >>> assay.run("data.csv", model=(model, tokenizer), method="ppl")

    Also works inside a running event loop. Raises `assay.AssayError` with the place and the fix if something
    is wrong with the data, the model or the settings. None always means: not set here. Then the environment
    (`ASSAY_MODEL`), `assay.toml` and the defaults decide, as on the command line.

    Args:
        data: A path, a benchmark's name, or a dataset on the hub; a list of dicts, a DataFrame of pandas or
            polars, a pyarrow.Table or a datasets.Dataset; a list of several of these; or a dict of rows by
            the name of their task.
        model: A name as after `--model` [smollm2]; a function that takes a prompt (`str`), the messages of a
            conversation (`list[dict]`) or several prompts (`list[str]`), also `async def`; or
            (model, tokenizer).
        model_args: Arguments of the model, such as `{"dtype": "float32"}`. For a function: `takes`,
            `batch_size`, and `version`, which allows its answers to be reused.
        label: Name of the model in tables and on pages. [its name]
        chat: Whether prompts use the model's chat template. [auto]
        thinking: Let the model think: "on", "off", an effort, or a maximum number of tokens. [the model's]
        concurrency: Maximum concurrent requests to a server, or calls of a function. [auto; a function: 1]
        batch: Send all requests through the provider's batch endpoint. [False]
        workers: Number of processes that each load the model. [1]
        on: Where workers run: "ray" or "ray:ADDRESS". [this machine]
        worker_timeout: Seconds without a response before a busy worker is replaced. [600]
        budget: Limits after which the run stops, such as "5usd,30min"; the same call resumes it.
        prices: US dollars per million tokens, such as {"openai:gpt-5": {"input": 1.25, "output": 10}}.
        method: "ppl", "prob", "gen", or several of them. [by the data]
        shots: Number of solved examples before each question. [0]
        shots_from: Where the examples come from: a file, a split, or rows. [the dataset itself]
        shot_policy: Take the first examples, or draw them by the seed.
        template: Prompt template, with {column} or Jinja. [by the data]
        human_prompt: Template of the user's turn.
        bot_prompt: Template of the model's turn, with {answer}.
        shuffle_options: Shuffle the options of each row by the seed. [False]
        cot: Chain-of-thought variant that the dataset defines.
        max_tokens: Maximum tokens per answer. [the dataset's, else 256]
        temperature: Sampling temperature; 0 is greedy. [the dataset's, else 0]
        top_p: Nucleus sampling. [the dataset's, else 1]
        stop: Texts that end an answer.
        seed: Seed of every random draw. [0]
        samples: Answers per question, for majority vote or pass@k. [1]
        limit: Number of rows to draw by the seed, or "first:N" or "last:N". [all]
        split: Split of a dataset from the hub or data_root. [test, else validation]
        name: Name of the task. [the file's name]
        data_type: "mcq", "qa" or "text". [inferred]
        input_columns: Columns of the question. [inferred]
        context_columns: Columns shown before the question, such as a passage. [inferred]
        options: Option columns, or the one column that lists the options. [inferred]
        answer_column: Column of the right answer. [inferred]
        answer_is: How the answer column names the right answer. [inferred]
        distractors: Columns of wrong options, if the right one has its own column. [inferred]
        label_names: Meaning of integer labels: a list counted from 0, or a dict.
        messages_column: Column of conversations. [inferred]
        no_answers: The data have no right answers: keep the replies without scoring them. [False]
        group_by: Column whose values are also scored separately. [category]
        cluster: Column that groups dependent rows, for the interval.
        meta: Meta file with settings of the table. [FILE.meta.json]
        table: Further settings of the table, with the keys of the meta file.
        sheet: Sheet of a workbook, list in a JSON document, or file in an archive.
        header: Whether the first row of the file has the column names. [inferred]
        header_row: Line or sheet row of the column names. [first]
        columns: Column names of a file without a header.
        separator: Column separator. [inferred]
        quotes: Whether double quotes enclose values. [inferred]
        encoding: Text encoding of the file. [utf-8]
        decimal_comma: Whether the right answer 3,5 means the number 3.5. [inferred]
        dialect: Dataset format: table, llmbox, ultraeval, openicl, leap or lm_eval. [detected]
        dataset_args: Arguments of the dataset format.
        data_root: Folder of datasets that can be used by name.
        include_path: Folders with more task files of lm-eval.
        benchmarks_from: Folders with more benchmarks that can be used by name.
        stream: Stream rows of a hub dataset instead of downloading it. [False]
        match: How a free-text answer is compared with the right one. [stated]
        several_right: With several right options, require exactly these or accept any. [exact]
        ppl_target: Score the option's label or its text in ppl. [label]
        score_by: Normalisation of option likelihoods in ppl. [sum]
        fidelity: Fix the original system's bugs, or reproduce its numbers exactly. [corrected]
        judge: The model that grades answers, given like `model`.
        judge_args: Arguments of the judge.
        windows: How to measure the perplexity of long texts. [classic]
        window_tokens: Tokens per perplexity window. [the model's context]
        stride: Tokens from one hf-stride window to the next. [512]
        out: Folder of this run. [runs/ID]
        runs_dir: Folder of runs without `out`. [runs]
        cache: Reuse responses across runs. [True]
        fresh: Archive an earlier run of the same call and re-run all requests. [False]
        reuse: Reuse a finished run even if its model cannot be identified. [False]
        retry_failed: Send failed requests again. [False]
        keep_going: Continue even if the first requests all fail in the same way. [False]
        allow_failures: Number or percentage of samples that may fail. [0]
        stage: Only collect responses ("infer"), or score stored ones ("score"). [all]
        answers_from: Run whose responses stage "score" uses. [the latest that fits]
        keep_media: Maximum bytes of media copied into the run. [256MB]
        offline: Allow only connections to the model server you name. [False]
        track: Trackers to log the result to: "mlflow", "wandb" or "trackio", also with a name: "mlflow:quiz".
        profile: Profile of settings in assay.toml.
        progress: Show progress. [in notebooks and on terminals]
    """
    given = {key: value for key, value in locals().items() if value is not None}
    del given["data"]
    given.pop("progress", None)
    objects = NamedObjects()
    datasets = objects.name_datasets(data)
    for role in ("model", "judge"):
        if role in given:
            given[role] = objects.name_model(given[role])
    if shots_from is not None:
        given["shots_from"] = objects.name_dataset(shots_from)
    flags = _collect_settings(given)

    def format_argument(setting: str) -> str:
        """Return a setting as Python code writes it."""
        prefix, _, key = setting.partition(".")
        if not key:
            return repr(setting)
        return repr(flag) if (flag := FLAGS_OF_KEYS.get(key, key)) in given else f"{prefix}[{key!r}]"

    resolved = resolve_settings(flags, os.environ, Path.cwd(), format_argument)
    with open_observer(progress) as observer, providing_objects(objects.by_name):
        # An offline run seals its thread permanently.
        finished = run_off_loop(
            lambda: evaluate(datasets, resolved, observer), must_leave=resolved.values.offline
        )
    for one in finished.tracked:
        if one.problem is not None:
            warnings.warn(str(one.problem), stacklevel=2)
    return RunResult(finished)


def _collect_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as settings: those of a table by the keys of its meta file."""
    described = dict(given.get("table") or {})
    settings: dict[str, Any] = {}
    for name, value in given.items():
        if name in TABLE_FLAGS:
            key = TABLE_FLAGS[name]
            if key in described:
                what = f"{name!r} and table[{key!r}] set the same thing"
                raise UsageError(Problem("USAGE-005", what, f"remove one of them, such as table[{key!r}]"))
            described[key] = _convert_table_value(name, value)
        elif name in _PAIRS:
            settings[name] = {key: _format_value(one) for key, one in value.items()}
        elif name in _SEVERAL:
            values = [value] if isinstance(value, (str, Path)) else value
            settings[name] = tuple(map(str, values))
        elif name != "table":
            settings[name] = _convert_value(name, value)
    if described:
        settings["table"] = described
    return settings


def _convert_value(name: str, value: Any) -> Any:
    if isinstance(value, Path) or (name == "limit" and isinstance(value, int)):
        return str(value)
    if name == "shots_from" and not isinstance(value, str):
        return str(value)
    return value


def _convert_table_value(name: str, value: Any) -> Any:
    if name in ("input_columns", "context_columns", "distractors") and isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return {str(key): one for key, one in value.items()} if name == "label_names" else dict(value)
    return list(value) if isinstance(value, tuple) else value


def _format_value(value: Any) -> str:
    """Return an argument of a model as it is written after `--model-arg`."""
    return str(value).lower() if isinstance(value, bool) else str(value)
