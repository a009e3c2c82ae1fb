from __future__ import annotations

import json
import re
from pathlib import Path

from assay.dialects.llmbox.library.dataset_enum import constants

NAMES = constants()


def test_mmlu_is_the_benchmark_s_own_sorting(shared_data: Path) -> None:
    reported = json.loads((shared_data / "mmlu" / "subject_categories.json").read_text(encoding="utf-8"))
    field_of = {subject: fields[0] for subject, fields in reported["subcategories"].items()}
    own_names = dict(
        zip(reported["categories"], ("stem", "humanities", "social_sciences", "other"), strict=True)
    )
    for category, fields in reported["categories"].items():
        expected = {subject for subject, field in field_of.items() if field in fields}
        assert set(NAMES["MMLU_SUBJECTS"][own_names[category]]) == expected
    assert [len(subjects) for subjects in NAMES["MMLU_SUBJECTS"].values()] == [18, 13, 12, 14]


def test_bbh_is_sorted_by_what_its_answers_are(shared_data: Path) -> None:
    for file in sorted((shared_data / "bbh" / "bbh").glob("*.json")):
        answers = [row["target"] for row in json.loads(file.read_text(encoding="utf-8"))["examples"]]
        n_letters = sum(bool(re.fullmatch(r"\([A-Z]\)", answer)) for answer in answers)
        assert (n_letters > len(answers) / 2) is (file.stem in NAMES["BBH_LETTER_CHOICE"])
        # Two tasks of letters have a few answers that are typing errors, so the shares are compared.
        assert (n_letters == 0 and len(set(answers)) > 2) is (file.stem in NAMES["BBH_NO_CHOICE"])


def test_the_lists_of_agieval_fit_together() -> None:
    english = NAMES["AGIEVAL_ENGLISH_SUBJECTS"]
    assert len(english) == 8
    assert NAMES["AGIEVAL_SUBJECTS"] == {"English": english}
    assert NAMES["AGIEVAL_EN_QA_TASKS"] == [*english, "gaokao-english"]
    assert len(NAMES["AGIEVAL_ZH_QA_TASKS"]) == 10
    cloze = NAMES["AGIEVAL_EN_CLOZE_TASKS"], NAMES["AGIEVAL_ZH_CLOZE_TASKS"]
    assert cloze == (["math"], ["gaokao-mathcloze"])
    assert NAMES["AGIEVAL_NO_LETTER_CHOICE_TASKS"] == [*cloze[0], *cloze[1]]
    assert NAMES["AGIEVAL_EN_PROMPT_TASKS"] == [*cloze[0], *NAMES["AGIEVAL_EN_QA_TASKS"]]
    assert NAMES["AGIEVAL_ZH_PROMPT_TASKS"] == [*cloze[1], *NAMES["AGIEVAL_ZH_QA_TASKS"]]
    assert set(NAMES["AGIEVAL_MULTI_ANSWERS_TASKS"]) < set(NAMES["AGIEVAL_ZH_QA_TASKS"])


def test_the_names_of_ceval_and_cmmlu() -> None:
    subjects = NAMES["CEVAL_SUBJECTS"]
    assert {category: len(names) for category, names in subjects.items()} == {
        "stem": 20,
        "social science": 10,
        "humanities": 11,
        "other": 11,
    }
    assert {name for names in subjects.values() for name in names} == set(NAMES["CEVAL_TRANS"])
    assert NAMES["CEVAL_TRANS"]["law"] == "法学"
    assert len(NAMES["CMMLU_NAME_TRANS"]) == 67
    assert NAMES["CMMLU_NAME_TRANS"]["agronomy"] == "农学"


def test_the_tasks_of_gaokao() -> None:
    tasks = NAMES["GAOKAO_TASKS"]
    assert len(tasks) == 14
    assert set(tasks.values()) == {"single_answer_mcq", "multi_answers_mcq", "multi_mcqs", "seven_option"}
    scores = NAMES["GAOKAO_TASKS_SCORE"]
    assert scores == {**NAMES["GAOKAO_CHINESE_TASKS_SCORE"], **NAMES["GAOKAO_ENGLISH_TASKS_SCORE"]}
    assert set(scores) < set(tasks)
    assert sum(scores.values()) == 261 + 240 + 940 + 900 + 260 + 105


def test_a_change_stays_with_the_one_who_makes_it() -> None:
    constants()["MMLU_SUBJECTS"]["stem"].clear()
    assert constants()["MMLU_SUBJECTS"]["stem"]
