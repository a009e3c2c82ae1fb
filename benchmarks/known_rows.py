"""Made rows in the fields of well-known datasets, for tasks whose real rows are not on the machine."""

from __future__ import annotations

from typing import Any, NamedTuple

Row = dict[str, Any]


class MadeDataset(NamedTuple):
    """The rows of a dataset, the same in each of its splits."""

    rows: tuple[Row, ...]
    splits: tuple[str, ...] = ("train", "validation", "test")


_FOUR = {"A": "one", "B": "two", "C": "three", "D": "four"}
_QUESTION = "How many corners does a triangle have?"
_PASSAGE = "A triangle has three corners. A square has four. The town of Pisa has a tower."
_SPAN = {"text": ["three"], "answer_start": [15]}
_PROBLEM = {
    "problem": "What is $1+1$?",
    "solution": "It is $\\boxed{2}$.",
    "level": "Level 5",
    "type": "Algebra",
}


def _twice(row: Row, **other: Any) -> tuple[Row, Row]:
    """Return a row, and one that differs in a field."""
    return row, {**row, **other}


MADE = {
    "TIGER-Lab/MMLU-Pro": MadeDataset(
        tuple(
            {
                "question_id": number,
                "question": f"{_QUESTION} ({subject})",
                "options": ["one", "two", "three", "four"],
                "answer": "C",
                "answer_index": 2,
                "cot_content": "A: Let's think step by step. The answer is (C).",
                "category": subject,
                "src": "made",
            }
            for number, subject in enumerate(
                (
                    *("biology", "business", "chemistry", "computer science", "economics", "engineering"),
                    *("health", "history", "law", "math", "other", "philosophy", "physics", "psychology"),
                )
                * 6
            )
        ),
        ("validation", "test"),
    ),
    "EleutherAI/hendrycks_math": MadeDataset(_twice(_PROBLEM, problem="What is $2$?"), ("train", "test")),
    "DigitalLearningGmbH/MATH-lighteval": MadeDataset(
        _twice(_PROBLEM, problem="What is $2$?"), ("train", "test")
    ),
    "google-research-datasets/mbpp": MadeDataset(
        _twice(
            {
                "task_id": 11,
                "text": "Write a function to add one.",
                "code": "def add(x):\n    return x + 1",
                "test_list": ["assert add(1) == 2", "assert add(2) == 3", "assert add(3) == 4"],
                "test_setup_code": "",
                "challenge_test_list": [],
            },
            task_id=12,
        ),
        ("train", "validation", "test", "prompt"),
    ),
    "truthfulqa/truthful_qa": MadeDataset(
        _twice(
            {
                "type": "Adversarial",
                "category": "Geometry",
                "question": _QUESTION,
                "best_answer": "Three.",
                "correct_answers": ["Three.", "It has three."],
                "incorrect_answers": ["Four.", "None."],
                "source": "made",
                "mc1_targets": {"choices": ["Three.", "Four.", "None."], "labels": [1, 0, 0]},
                "mc2_targets": {"choices": ["Three.", "It has three.", "Four."], "labels": [1, 1, 0]},
            },
            question="How many corners does a square not have?",
        ),
        ("validation",),
    ),
    "lighteval/squad_v2": MadeDataset(
        _twice(
            {"id": "1", "title": "Shapes", "context": _PASSAGE, "question": _QUESTION, "answers": _SPAN},
            id="2",
            answers={"text": [], "answer_start": []},
        ),
        ("train", "validation"),
    ),
    "EleutherAI/drop": MadeDataset(
        _twice(
            {
                "section_id": "1",
                "passage": _PASSAGE,
                "question": _QUESTION,
                "query_id": "1",
                "answer": {
                    "number": "3",
                    "date": {"day": "", "month": "", "year": ""},
                    "spans": [],
                    "worker_id": "",
                    "hit_id": "",
                },
                "validated_answers": {
                    "number": [],
                    "date": [],
                    "spans": [],
                    "worker_id": [],
                    "hit_id": [],
                },
            },
            query_id="2",
        ),
        ("train", "validation"),
    ),
    "EleutherAI/race": MadeDataset(
        _twice(
            {
                "article": _PASSAGE,
                "problems": "[{'question': 'A triangle has _ corners.', 'answer': 'C', "
                "'options': ['one', 'two', 'three', 'four']}, {'question': 'What has Pisa?', 'answer': 'A', "
                "'options': ['a tower', 'a sea', 'a king', 'snow']}]",
            },
            article=f"{_PASSAGE} It leans.",
        )
    ),
    "ceval/ceval-exam": MadeDataset(
        _twice({"id": 0, "question": _QUESTION, **_FOUR, "answer": "C", "explanation": ""}, id=1),
        ("dev", "val", "test"),
    ),
    "haonan-li/cmmlu": MadeDataset(
        _twice({"Question": _QUESTION, **_FOUR, "Answer": "C"}, Question="Which is three?"), ("dev", "test")
    ),
    "HAERAE-HUB/KMMLU": MadeDataset(
        _twice({"question": _QUESTION, **_FOUR, "answer": 3, "Category": "math"}, question="Which is three?"),
        ("train", "dev", "test"),
    ),
    "skt/kobest_v1": MadeDataset(
        _twice(
            {
                "paragraph": _PASSAGE,
                "question": "원인",
                "premise": "비가 왔다.",
                "alternative_1": "땅이 젖었다.",
                "alternative_2": "땅이 말랐다.",
                "context": "한 사람이 물을 끓인다.",
                "ending_1": "차를 만든다.",
                "ending_2": "잠을 잔다.",
                "ending_3": "달린다.",
                "ending_4": "노래한다.",
                "sentence": "영화가 좋다.",
                "word": "배",
                "context_1": "배를 먹는다.",
                "context_2": "배를 탄다.",
                "label": 1,
            },
            label=0,
        )
    ),
    "Idavidrein/gpqa": MadeDataset(
        _twice(
            {
                "Question": _QUESTION,
                "Correct Answer": "three",
                "Incorrect Answer 1": "one",
                "Incorrect Answer 2": "two",
                "Incorrect Answer 3": "four",
                "Explanation": "Count them.",
            },
            Question="Which is three?",
        ),
        ("train",),
    ),
    "TAUR-Lab/MuSR": MadeDataset(
        _twice(
            {
                "narrative": _PASSAGE,
                "question": _QUESTION,
                "choices": "['one', 'three', 'four']",
                "answer_index": 1,
                "answer_choice": "three",
            },
            question="Which is three?",
        ),
        ("murder_mysteries", "object_placements", "team_allocation"),
    ),
    "SaylorTwift/bbh": MadeDataset(
        tuple(
            {
                "input": f"Case {number}: {_QUESTION}\nOptions:\n(A) one\n(B) two\n(C) three",
                "target": "(C)",
            }
            for number in range(6)
        ),
        ("test",),
    ),
    "wis-k/instruction-following-eval": MadeDataset(
        _twice(
            {
                "key": 1,
                "prompt": "Write without commas.",
                "instruction_id_list": ["punctuation:no_comma"],
                "kwargs": [{}],
            },
            key=2,
        ),
        ("train",),
    ),
    "EleutherAI/wikitext_document_level": MadeDataset(
        _twice({"page": f" = Shapes = \n\n {_PASSAGE} \n"}, page=" = Pisa = \n\n It has a tower . \n")
    ),
    "EleutherAI/lambada_openai": MadeDataset(
        _twice({"text": "She poured tea and he drank the tea"}, text="He looked at the sea and saw the sea"),
        ("test",),
    ),
    "facebook/xnli": MadeDataset(
        _twice(
            {"premise": "A man sleeps.", "hypothesis": "A man is awake.", "label": 2},
            hypothesis="A man rests.",
        )
    ),
    "google/xquad": MadeDataset(
        _twice({"id": "1", "context": _PASSAGE, "question": _QUESTION, "answers": _SPAN}, id="2"),
        ("validation",),
    ),
    "facebook/flores": MadeDataset(
        _twice(
            {
                "id": 1,
                "sentence_eng_Latn": "The town has a tower.",
                "sentence_kea_Latn": "Vila ten un tori.",
                "sentence_fra_Latn": "La ville a une tour.",
            },
            id=2,
        ),
        ("dev", "devtest"),
    ),
    "aps/super_glue": MadeDataset(
        _twice(
            {
                "passage": _PASSAGE,
                "question": "does a triangle have three corners",
                "premise": "It rained.",
                "choice1": "The street was wet.",
                "choice2": "The street was dry.",
                "idx": 0,
                "label": 1,
            },
            idx=1,
            label=0,
        )
    ),
}
"""By the name that lm-eval's task files use."""
