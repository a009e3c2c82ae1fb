"""Dataset classes with their own settings and the run's: limits, sampling, subsets, differences, no leaks."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.core.errors import PlanError, UsageError
from assay.core.limit import Limit
from assay.core.method import Method
from assay.core.request import Sampling
from assay.dialects.llmbox.authoring import Dataset, GenerationDataset, MultipleChoiceDataset
from assay.dialects.shared.selection import select_parts
from fakes.classes import compile_one, compile_text, completion, evaluated, list_asks

chosen_subsets = partial(select_parts, noun="subset", code="LLMBOX-008")

CHOICE = """
class Choice(MultipleChoiceDataset):
    instruction = "{{q}}{{'\\n' + options if options}}"
    def format_instance(self, instance):
        return dict(q=instance["q"], options=["yes", "no"], target_idx=instance["answer"])
"""
FREE = """
class Free(GenerationDataset):
    instruction = "{q}"
    metrics = [Em()]
    def format_instance(self, instance):
        return dict(q=instance["q"], target="t")
"""
ROWS = [{"q": f"question {n}", "answer": n % 2} for n in range(20)]


def chosen(folder: Path, limit: Limit, *methods: str, seed: int = 0) -> list[int | None]:
    one = compile_one(folder, CHOICE, ROWS, settings={"limit": limit, "methods": methods, "seed": seed})
    assert one.task.spec.n_rows == 20
    assert one.task.spec.n_samples == len(list(one.task.samples()))
    return [sample.origin.row for sample in one.task.samples()]


def test_a_limit_takes_the_same_rows_for_every_method_and_only_grows(tmp_path: Path) -> None:
    before: list[int | None] = []
    for n in (1, 3, 8, 20, 30):
        rows = chosen(tmp_path, Limit(n), "ppl", "prob", "gen")
        assert len(rows) == min(n, 20)
        assert rows == sorted(rows, key=lambda row: row or 0)
        assert set(before) <= set(rows)
        assert chosen(tmp_path, Limit(n), "gen") == rows
        before = rows
    assert chosen(tmp_path, Limit(5, which="first"), "ppl") == [1, 2, 3, 4, 5]
    assert chosen(tmp_path, Limit(5), "ppl", seed=1) != chosen(tmp_path, Limit(5), "ppl")


def test_rows_keep_their_numbers_under_a_limit(tmp_path: Path) -> None:
    one = compile_one(tmp_path, CHOICE, ROWS, settings={"limit": Limit(4)})
    for sample in one.task.samples():
        assert sample.origin.row is not None
        assert sample.fields == ROWS[sample.origin.row - 1]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.none() | st.integers(1, 99),
    st.none() | st.integers(100, 999),
    st.sampled_from([None, 0.0, 0.3]),
    st.sampled_from([None, 0, 0.9]),
    st.sampled_from([None, "\n", ["a", "b"], []]),
    st.sampled_from([None, ("c",), ()]),
    st.integers(1, 3),
)
def test_a_flag_wins_over_the_class_which_wins_over_the_default(
    tmp_path: Path,
    own_tokens: int | None,
    flag_tokens: int | None,
    own_temperature: float | None,
    flag_temperature: float | None,
    own_stop: Any,
    flag_stop: tuple[str, ...] | None,
    samples: int,
) -> None:
    own = {"max_tokens": own_tokens, "temperature": own_temperature, "stop": own_stop}
    text = FREE.replace("metrics", f"extra_model_args = {own!r}\n    metrics")
    one = compile_one(
        tmp_path,
        text,
        ROWS[:1],
        settings={
            "max_tokens": flag_tokens,
            "temperature": flag_temperature,
            "stop": flag_stop,
            "samples": samples,
        },
    )
    sampling: Sampling = list_asks(one)[0]["sampling"]
    assert sampling.max_tokens == (flag_tokens or own_tokens or 1024)
    wished = flag_temperature if flag_temperature is not None else own_temperature or 0.0
    assert sampling.temperature == (wished or (1.0 if samples > 1 else 0.0))
    stops = [own_stop] if isinstance(own_stop, str) else own_stop or []
    assert list(sampling.stop) == list(flag_stop if flag_stop is not None else stops)
    assert sampling.n == samples
    assert (sampling.seed is None) == (sampling.temperature == 0)


def test_generation_takes_the_arguments_of_its_own_object(tmp_path: Path) -> None:
    text = CHOICE.replace(
        "    def format_instance",
        "    def init_arguments(self):\n"
        '        if self.model_evaluation_method == "generation":\n'
        '            self.extra_model_args = dict(max_tokens=7, stop="\\n")\n'
        "    def format_instance",
    )
    one = compile_one(tmp_path, text, ROWS[:1], settings={"methods": ("ppl", "prob", "gen")})
    (sampling,) = [found["sampling"] for found in list_asks(one, role="answer")]
    assert (sampling.max_tokens, sampling.stop) == (7, ("\n",))


@pytest.mark.parametrize("hook", ["init_arguments(self)", "load_raw_dataset(self, *_)"])
def test_an_instruction_from_the_command_line_wins_over_every_hook(tmp_path: Path, hook: str) -> None:
    text = FREE + f"    def {hook}:\n        self.instruction = 'own {{q}}'\n"
    rows = ROWS[:1]
    if hook.startswith("load"):
        text += "        self.evaluation_data = [dict(q='question 0')]\n"
    assert list_asks(compile_one(tmp_path, text, rows))[0]["source"] == "own question 0"
    assert (
        list_asks(compile_one(tmp_path, text, rows, instruction="say {q}"))[0]["source"] == "say question 0"
    )


@pytest.mark.parametrize(
    ("supported", "asked_for", "expected"),
    [
        (["base", "pal"], "pal", "pal"),
        (["base", "pal"], "other", "base"),
        ("base", "other", "base"),
        ([], "base", None),
        (["base"], None, None),
    ],
)
def test_ways_of_reasoning(
    tmp_path: Path, supported: Any, asked_for: str | None, expected: str | None
) -> None:
    text = FREE.replace("metrics", f"supported_cot = {supported!r}\n    metrics").replace(
        'dict(q=instance["q"]', "dict(q=str(self.cot)"
    )
    one = compile_one(tmp_path, text, ROWS[:1], settings={"cot": asked_for})
    assert list_asks(one)[0]["source"] == str(expected)
    assert one.task.spec.settings["cot"] == expected
    assert any("does not support cot" in note for note in one.notes) == (asked_for not in (None, expected))


def test_draws_while_loading_and_formatting_depend_on_seed_and_row_alone(tmp_path: Path) -> None:
    text = """
class Drawn(MultipleChoiceDataset):
    instruction = "{q}"
    def load_raw_dataset(self, *_):
        import numpy, random
        self.evaluation_data = [dict(n=n, extra=random.random(), more=int(numpy.random.randint(9)))
                                for n in range(6)]
    def format_instance(self, instance):
        import random
        options = ["a", "b", "c", "d"]
        self.shuffle_options(options)
        return dict(q=random.random(), options=options, target_idx=0)
"""

    def drawn(**more: Any) -> dict[str, Any]:
        one = compile_one(tmp_path, text, settings=more)
        return {
            sample.id: (sample.fields, sample.choices, [found["source"] for found in list_asks(one, n)])
            for n, sample in enumerate(one.task.samples())
        }

    state, state_np = random.getstate(), np.random.get_state()
    whole = drawn()
    assert random.getstate() == state
    assert np.random.get_state()[2] == state_np[2]  # type: ignore[index]
    assert len(whole) == 6
    assert len({choices for _, choices, _ in whole.values()}) > 1
    assert drawn() == whole
    assert drawn(limit=Limit(3)).items() <= whole.items()
    assert [found[:2] for found in drawn(methods=("prob",)).values()] == [f[:2] for f in whole.values()]
    assert drawn(seed=1).keys() != whole.keys()


def test_nothing_leaks_from_one_dataset_into_another(tmp_path: Path) -> None:
    greedy = """
class Greedy(MultipleChoiceDataset):
    instruction = "{{ mark(q) }}"
    use_normalization = True
    normalization_prompt = "Q:"
    def init_arguments(self):
        self.jinja2_env.globals["mark"] = str.upper
        self.extra_model_args["stop"] = "\\n"
        self.extra_model_args["temperature"] = 0.3
        self.metrics[0].tag = "Mine"
        self.load_kwargs["trust_remote_code"] = True
    def format_instance(self, instance):
        return dict(q=instance["q"], options=["yes", "no"], target_idx=instance["answer"])
"""
    classes = (Dataset, GenerationDataset, MultipleChoiceDataset)
    before = [dict(vars(cls)) for cls in classes]
    (tmp_path / "one").mkdir()
    first = compile_one(tmp_path / "one", greedy, ROWS[:2])
    assert list_asks(first)[0]["source"] == "QUESTION 0"
    assert [dict(vars(cls)) for cls in classes] == before
    (tmp_path / "two").mkdir()
    second = compile_one(tmp_path / "two", CHOICE, ROWS[:2], settings={"methods": ("ppl", "gen")})
    assert second.task.spec.settings["metrics"] == ["Accuracy()"]
    (sampling,) = [found["sampling"] for found in list_asks(second, role="answer")]
    assert (sampling.stop, sampling.temperature) == ((), 0.0)
    with pytest.raises(Exception, match="mark"):
        compile_one(tmp_path / "two", CHOICE.replace("{{q}}", "{{ mark(q) }}"), ROWS[:2])


def test_subsets_of_one_dataset_have_metrics_of_their_own(tmp_path: Path) -> None:
    for subset in ("a", "b"):
        (tmp_path / f"{subset}.jsonl").write_text(f'{{"q": "{subset}"}}\n', encoding="utf-8")
    text = FREE.replace("metrics", 'load_args = ("x",)\n    metrics')
    one, other = compile_text(tmp_path, text, selection=":a,b", dataset_path=str(tmp_path / "{subset}.jsonl"))
    evaluated(one, lambda _: completion("t"))
    result = evaluated(other, lambda _: completion("no"))
    assert result.metrics["gen", "EM", None].value == 0.0
    first, second = (each.task._prepared[Method.GEN].dataset.metrics[0] for each in (one, other))
    assert first.last_score_lists == {"EM": [1.0]}
    assert second.last_score_lists == {"EM": [0.0]}


NAMES = ["anatomy", "art", "biology", "chemistry", "zoology"]
CATEGORIES = {"stem": ["biology", "chemistry", "zoology"], "Arts": ["art"]}


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ("", NAMES),
        ("art", ["art"]),
        ("zoology,art", ["art", "zoology"]),
        ("art,art", ["art"]),
        ("[stem]", ["biology", "chemistry", "zoology"]),
        ("[STEM],art", ["art", "biology", "chemistry", "zoology"]),
        ("[arts],[stem]", ["art", "biology", "chemistry", "zoology"]),
        ("a*", ["anatomy", "art"]),
        ("*ology", ["biology", "zoology"]),
        ("?rt", ["art"]),
        ("!art", ["anatomy", "biology", "chemistry", "zoology"]),
        ("[stem],!zoology", ["biology", "chemistry"]),
        ("!a*", ["biology", "chemistry", "zoology"]),
        ("![stem]", ["anatomy", "art"]),
        (" art , biology ", ["art", "biology"]),
    ],
)
def test_selections(selection: str, expected: list[str]) -> None:
    assert chosen_subsets(selection, NAMES, dataset="d", categories=CATEGORIES) == expected


@pytest.mark.parametrize("selection", ["nothing", "[none]", "x*", "art,!art", "!nothing", "[stem],!*"])
def test_selections_that_mean_nothing(selection: str) -> None:
    with pytest.raises(UsageError, match="LLMBOX-008"):
        chosen_subsets(selection, NAMES, dataset="d", categories=CATEGORIES)


def test_banned_subsets_are_not_there() -> None:
    allowed = chosen_subsets("", NAMES, dataset="d", categories=None, banned=("art",))
    assert allowed == ["anatomy", "biology", "chemistry", "zoology"]
    with pytest.raises(UsageError):
        chosen_subsets("art", NAMES, dataset="d", categories=None, banned=("art",))


def test_names_are_taken_as_they_are_when_nobody_knows_which_there_are() -> None:
    assert chosen_subsets("x,y", [], dataset="d", categories=None) == ["x", "y"]
    assert chosen_subsets("[c]", [], dataset="d", categories={"c": ["p", "q"]}) == ["p", "q"]
    assert chosen_subsets("", [], dataset="d", categories=None) == []


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from([*NAMES, "[stem]", "[Arts]", "a*"]), min_size=1), st.sets(st.sampled_from(NAMES))
)
def test_a_selection_is_a_union_less_a_union(wanted: list[str], unwanted: set[str]) -> None:
    meaning = {
        **{n: {n} for n in NAMES},
        "[stem]": set(CATEGORIES["stem"]),
        "[Arts]": {"art"},
        "a*": {"anatomy", "art"},
    }
    expected = set().union(*(meaning[part] for part in wanted)) - unwanted
    selection = ",".join([*wanted, *(f"!{name}" for name in sorted(unwanted))])
    if not expected:
        with pytest.raises(UsageError):
            chosen_subsets(selection, NAMES, dataset="d", categories=CATEGORIES)
        return
    found = chosen_subsets(selection, NAMES, dataset="d", categories=CATEGORIES)
    assert found == [name for name in NAMES if name in expected]


def quirks(folder: Path, text: str, rows: Any, **more: Any) -> dict[str, str]:
    one = compile_one(folder, text, rows, settings=more)
    return {difference.name: difference.here for difference in one.task.spec.differences}


def test_differences_say_what_was_done(tmp_path: Path) -> None:
    plain = quirks(tmp_path, CHOICE, ROWS[:1])
    assert set(plain) == {"turn_keys", "undefined_field", "prefix_token"}
    faithful = quirks(tmp_path, CHOICE, ROWS[:1], is_faithful=True)
    assert faithful["turn_keys"] == faithful["undefined_field"] == "as the original"
    assert faithful["prefix_token"] == plain["prefix_token"]
    by_words = quirks(tmp_path, CHOICE, ROWS[:1], methods=("gen",))
    assert {"last_letter", "option_room", "default_sampling"} <= set(by_words)
    assert "last_letter" not in quirks(tmp_path, FREE, ROWS[:1])
    assert "label_spellings" in quirks(tmp_path, CHOICE, ROWS[:1], methods=("prob",))
    assert "row_draws" in quirks(tmp_path, "import random\n" + CHOICE, ROWS[:1])
    grouped = CHOICE.replace("instruction", 'category_column = "q"\n    instruction', 1)
    assert "group_values" in quirks(tmp_path, grouped, ROWS[:1])
    one = compile_one(tmp_path, FREE, ROWS[:1], model_type="chat", instruction="{q}")
    assert {"chat_template", "instruction_flag"} <= {
        difference.name for difference in one.task.spec.differences
    }


def test_a_field_that_is_missing_prints_nothing_as_in_the_original(tmp_path: Path) -> None:
    text = FREE.replace('"{q}"', '"a{{nowhere}}b"')
    assert (
        list_asks(compile_one(tmp_path, text, ROWS[:1], settings={"is_faithful": True}))[0]["source"] == "ab"
    )


def test_options_answered_in_words_have_the_originals_room(tmp_path: Path) -> None:
    for faithful, expected in ((True, 1024), (False, 256)):
        one = compile_one(tmp_path, CHOICE, ROWS[:1], settings={"methods": ("gen",), "is_faithful": faithful})
        assert list_asks(one)[0]["sampling"].max_tokens == expected


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        (FREE, {"methods": ("ppl",)}, "'ppl'"),
        (CHOICE, {"samples": 2}, "2 samples"),
        (CHOICE, {"samples": 2, "methods": ("gen", "ppl")}, "2 samples"),
        (
            CHOICE.replace(
                "    def format",
                "    def init_arguments(self):\n        self.ranking_with_options = False\n    def format",
            ),
            {"methods": ("prob",)},
            "switches to 'ppl'",
        ),
    ],
)
def test_methods_that_do_not_fit(tmp_path: Path, text: str, more: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=rf"LLMBOX-009.*{message}"):
        compile_one(tmp_path, text, ROWS[:1], settings=more)


def test_options_shown_by_the_classs_own_wish(tmp_path: Path) -> None:
    """In the original the setter stores the opposite."""
    text = CHOICE.replace(
        "    def format",
        "    def init_arguments(self):\n        self.ranking_with_options = True\n    def format",
    )
    one = compile_one(tmp_path, text, ROWS[:1])
    assert list_asks(one)[0] == {"source": "question 0\nA. yes\nB. no", "target": "A. yes"}
    named = compile_one(tmp_path, CHOICE, ROWS[:1], ranking_type="ppl")
    assert list_asks(named) == list_asks(one)


def test_notes_are_said_once(tmp_path: Path) -> None:
    one = compile_one(
        tmp_path,
        CHOICE,
        ROWS[:2],
        examples=ROWS[5:6],
        settings={"shots": 3, "methods": ("ppl", "prob", "gen")},
    )
    assert len(one.notes) == len(set(one.notes)) == 1


def test_a_category_counts_when_all_of_it_was_chosen(tmp_path: Path) -> None:
    for subset in ("a", "b", "c"):
        (tmp_path / f"{subset}.jsonl").write_text('{"q": "Q"}\n', encoding="utf-8")
    text = FREE.replace(
        "metrics",
        'load_args = ("x",)\n    category_subsets = {"all": ["a", "b", "c"], "ab": ["a", "b"]}\n    metrics',
    )

    def categories(selection: str) -> list[tuple[str, ...]]:
        some = compile_text(
            tmp_path, text, selection=selection, dataset_path=str(tmp_path / "{subset}.jsonl")
        )
        return [one.task.spec.categories for one in some]

    assert categories(":a,b") == [("ab",), ("ab",)]
    assert categories(":a,c") == [(), ()]
    assert categories(":a,b,c") == [("all", "ab"), ("all", "ab"), ("all",)]


def test_categories_without_effect_are_noted(tmp_path: Path) -> None:
    text = FREE.replace("metrics", 'categorized_subsets = {"all": ["a", "b"]}\n    metrics')
    alone = compile_one(tmp_path, text, ROWS[:1])
    assert "categorized_subsets has no effect: the dataset has no subsets" in alone.notes
    folder = tmp_path / "data" / "x" / "a"
    folder.mkdir(parents=True)
    (folder / "test.jsonl").write_text('{"q": "Q", "a": "A"}\n', encoding="utf-8")
    loads = 'load_args = ("x",)\n    evaluation_set = "test"\n    categorized_subsets'
    partial_data = compile_text(tmp_path, text.replace("categorized_subsets", loads), hub=tmp_path / "data")
    assert any("contains 'b', which is not a subset" in note for note in partial_data[0].notes)


def test_a_dataset_of_a_collection_has_its_own_name_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "glue" / "copa"
    folder.mkdir(parents=True)
    (folder / "test.jsonl").write_text('{"q": "Q", "a": "A"}\n', encoding="utf-8")
    loads = 'load_args = ("glue", "copa")\n    evaluation_set = "test"\n    metrics'
    (one,) = compile_text(tmp_path, FREE.replace("metrics", loads, 1), hub=tmp_path / "data")
    assert one.task.spec.name == "my_dataset"
    (chosen,) = compile_text(
        tmp_path, FREE.replace("metrics", loads, 1), hub=tmp_path / "data", selection=":copa"
    )
    assert chosen.task.spec.name == "my_dataset:copa"
