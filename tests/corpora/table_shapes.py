"""Small tables in the field structure of well-known datasets, and of files that people write by hand.

Each says what the prompt must show, which reply to the first row is right and which is wrong; or, where the
file alone does not say it, that Assay must ask.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

PLACES = (("France", "Paris"), ("Italy", "Rome"), ("Spain", "Madrid"))
CITIES = ["Paris", "Rome", "Madrid", "Bonn"]
LETTERS = "ABCD"
PASSAGE = (
    "{0} is a country in Europe, and its seat of government, where the parliament meets, is the city of {1}."
)


class Shape(NamedTuple):
    """A table and how it must be read."""

    name: str
    rows: list[dict[str, Any]]
    show: tuple[str, ...]
    """Texts that the first row's prompt must have."""
    right: str | None
    """A reply that answers the first row; None: Assay must ask before a model is loaded."""
    wrong: str | None = None
    hide: tuple[str, ...] = ()
    """Texts that the prompt must not have: they would give the answer away."""


def _ask(country: str) -> str:
    return f"What is the capital of {country}?"


def _passage(country: str, city: str) -> str:
    return PASSAGE.format(country, city)


def _rows(make: Any) -> list[dict[str, Any]]:
    return [make(index, country, city) for index, (country, city) in enumerate(PLACES)]


def _shapes() -> list[Shape]:
    france, paris = _ask("France"), _passage("France", "Paris")
    return [
        Shape(
            "medmcqa",
            _rows(
                lambda i, c, v: {
                    "id": f"m{i}",
                    "question": _ask(c),
                    **dict(zip(("opa", "opb", "opc", "opd"), CITIES, strict=True)),
                    "cop": i,
                    "choice_type": "single",
                    "exp": f"It is {v}: the parliament of {c} sits in {v}, as everybody learns at school.",
                    "subject_name": "Geography",
                    "topic_name": None,
                }
            ),
            (france, "Bonn"),
            "A",
            "B",
            ("everybody learns",),
        ),
        Shape(
            "sciq",
            _rows(
                lambda i, c, v: {
                    "question": _ask(c),
                    "distractor3": "Oslo",
                    "distractor1": "Bonn",
                    "distractor2": "Bern",
                    "correct_answer": v,
                    "support": _passage(c, v),
                }
            ),
            (france, paris, "Bonn", "Bern", "Oslo"),
            "Paris",
            "Bonn",
        ),
        Shape(
            "race",
            _rows(
                lambda i, c, v: {
                    "example_id": f"high{i}.txt",
                    "article": _passage(c, v) * 4,
                    "answer": LETTERS[i],
                    "question": "Where does the parliament meet?",
                    "options": CITIES,
                }
            ),
            (paris, "Where does the parliament meet?", "Bonn"),
            "A",
            "B",
        ),
        Shape(
            "copa",
            [
                {
                    "premise": f"Ann flew to {v}.",
                    "choice1": f"She saw {c}.",
                    "choice2": "She saw Peru.",
                    "question": "effect",
                    "idx": i,
                    "label": 0,
                }
                for i, (c, v) in enumerate(PLACES)
            ],
            ("Ann flew to Paris.", "effect", "She saw Peru."),
            "A",
            "B",
        ),
        Shape(
            "bbq",
            _rows(
                lambda i, c, v: {
                    "example_id": i,
                    "question_index": "1",
                    "question_polarity": "neg",
                    "context_condition": "ambig",
                    "category": "Nationality",
                    "context": f"I met a man from {c} and a man from Peru.",
                    "question": "Who spoke first?",
                    "ans0": f"The man from {c}",
                    "ans1": "The man from Peru",
                    "ans2": "Cannot be determined",
                    "label": 2,
                }
            ),
            ("I met a man from France", "Who spoke first?", "Cannot be determined"),
            "C",
            "A",
        ),
        Shape(
            "aqua_rat",
            [
                {
                    "question": f"What is {n} + 1?",
                    "options": [f"A){n}", f"B){n + 1}", f"C){n + 2}", f"D){n + 3}", f"E){n + 4}"],
                    "rationale": f"Add one to {n} and get {n + 1}, so B is right.",
                    "correct": "B",
                }
                for n in (4, 11, 98)
            ],
            ("What is 4 + 1?", "B. 5"),
            "B",
            "C",
            ("Add one", "B)5"),
        ),
        Shape(
            "math_qa",
            [
                {
                    "Problem": f"what is {n} plus 1 ?",
                    "Rationale": "add one",
                    "options": f"a ) {n} , b ) {n + 1} , c ) {n + 2} , d ) {n + 3} , e ) none of these",
                    "correct": "b",
                    "annotated_formula": f"add({n}, const_1)",
                    "category": "general",
                }
                for n in (4, 11, 98)
            ],
            ("what is 4 plus 1 ?", "none of these"),
            "B",
            "C",
        ),
        Shape(
            "math",
            [
                {
                    "problem": f"What is ${n}+1$?",
                    "level": "Level 1",
                    "type": "Algebra",
                    "solution": f"We add one to ${n}$. The result is $\\boxed{{{n + 1}}}$.",
                }
                for n in (4, 11, 98)
            ],
            ("What is $4+1$?",),
            "The answer is $\\boxed{5}$.",
            "The answer is $\\boxed{6}$.",
            ("We add one",),
        ),
        Shape(
            "math_500",
            [
                {
                    "problem": f"What is ${n}+1$?",
                    "solution": f"We add one to ${n}$. The result is $\\boxed{{{n + 1}}}$.",
                    "answer": f"{n + 1}",
                    "subject": "Algebra",
                    "level": 2,
                    "unique_id": f"test/algebra/{n}.json",
                }
                for n in (4, 11, 98)
            ],
            ("What is $4+1$?",),
            "$\\boxed{5}$",
            "$\\boxed{6}$",
            ("We add one",),
        ),
        Shape(
            "drop",
            _rows(
                lambda i, c, v: {
                    "section_id": "nfl_1",
                    "query_id": f"q{i}",
                    "passage": _passage(c, v),
                    "question": _ask(c),
                    "answers_spans": {"spans": [v], "types": ["span"]},
                }
            ),
            (france, paris),
            "Paris",
            "Bonn",
        ),
        Shape(
            "pubmedqa",
            [
                {
                    "pubid": i,
                    "question": f"Does the parliament of {c} meet in {v}?",
                    "context": {
                        "contexts": [_passage(c, v), "The study was small."],
                        "labels": ["BACKGROUND", "METHODS"],
                        "meshes": ["Europe"],
                    },
                    "long_answer": f"It does meet in {v}, according to all sources that we could find.",
                    "final_decision": ("yes", "no", "maybe")[i],
                }
                for i, (c, v) in enumerate(PLACES)
            ],
            ("Does the parliament of France meet", paris, "The study was small."),
            "yes",
            "no",
            ("according to all sources",),
        ),
        Shape(
            "strategyqa",
            _rows(
                lambda i, c, v: {
                    "qid": f"x{i}",
                    "term": v,
                    "description": f"City in {c}",
                    "question": f"Is {v} in {c}?",
                    "answer": True,
                    "facts": [f"{v} is the capital of {c}."],
                    "decomposition": [f"Where is {v}?"],
                }
            ),
            ("Is Paris in France?",),
            "Yes",
            "No",
        ),
        Shape(
            "truthfulqa_generation",
            _rows(
                lambda i, c, v: {
                    "type": "Adversarial",
                    "category": "Geo",
                    "question": _ask(c),
                    "best_answer": v,
                    "correct_answers": [v, f"The city of {v}"],
                    "incorrect_answers": ["Bonn", "Oslo"],
                    "source": "none",
                }
            ),
            (),
            None,
        ),
        Shape(
            "web_questions",
            _rows(lambda i, c, v: {"url": f"http://x/{i}", "question": _ask(c), "answers": [v, f"{v} city"]}),
            (france,),
            "Paris",
            "Bonn",
        ),
        Shape(
            "coqa_like",
            _rows(
                lambda i, c, v: {"source": "race", "story": _passage(c, v), "question": _ask(c), "answer": v}
            ),
            (france, paris),
            "Paris",
            "Bonn",
        ),
        Shape(
            "openbookqa",
            _rows(
                lambda i, c, v: {
                    "id": f"7-{i}",
                    "question_stem": f"The capital of {c} is",
                    "choices": {"text": CITIES, "label": list(LETTERS)},
                    "answerKey": LETTERS[i],
                }
            ),
            ("The capital of France is", "Bonn"),
            "A",
            "B",
        ),
        Shape(
            "arc_original",
            _rows(
                lambda i, c, v: {
                    "id": f"M{i}",
                    "question": {
                        "stem": _ask(c),
                        "choices": [{"text": t, "label": n} for n, t in zip(LETTERS, CITIES, strict=True)],
                    },
                    "answerKey": LETTERS[i],
                }
            ),
            (france, "Bonn"),
            "A",
            "B",
        ),
        Shape(
            "qasc",
            _rows(
                lambda i, c, v: {
                    "id": f"q{i}",
                    "question": _ask(c),
                    "choices": {"text": CITIES, "label": list(LETTERS)},
                    "answerKey": LETTERS[i],
                    "formatted_question": f"{_ask(c)} (A) Paris (B) Rome (C) Madrid (D) Bonn",
                }
            ),
            (france, "Bonn"),
            "A",
            "B",
        ),
        Shape(
            "cosmos_qa",
            _rows(
                lambda i, c, v: {
                    "id": f"c{i}",
                    "context": _passage(c, v),
                    "question": "Where does the parliament meet?",
                    **{f"answer{n}": text for n, text in enumerate(CITIES)},
                    "label": i,
                }
            ),
            (paris, "Where does the parliament meet?", "Bonn"),
            "A",
            "B",
        ),
        Shape(
            "gpqa",
            _rows(
                lambda i, c, v: {
                    "Question": _ask(c),
                    "Correct Answer": v,
                    "Incorrect Answer 1": "Bonn",
                    "Incorrect Answer 2": "Oslo",
                    "Incorrect Answer 3": "Bern",
                    "Explanation": f"Everybody knows that {v} is the capital of {c}.",
                    "Subdomain": "Geo",
                    "Record ID": f"rec{i}",
                }
            ),
            (france, "Bonn", "Oslo", "Bern"),
            "Paris",
            "Bonn",
            ("Everybody knows",),
        ),
        Shape(
            "mmlu_pro",
            _rows(
                lambda i, c, v: {
                    "question_id": i,
                    "question": _ask(c),
                    "options": CITIES,
                    "answer": LETTERS[i],
                    "answer_index": i,
                    "cot_content": "",
                    "category": "geo",
                    "src": "ori_mmlu",
                }
            ),
            (france, "Bonn"),
            "A",
            "B",
        ),
        Shape(
            "bbh_letters",
            _rows(
                lambda i, c, v: {
                    "input": f"{_ask(c)}\nOptions:\n(A) Paris\n(B) Rome\n(C) Madrid\n(D) Bonn",
                    "target": f"({LETTERS[i]})",
                }
            ),
            (france, "(D) Bonn"),
            "(A)",
            "(B)",
        ),
        Shape(
            "big_bench",
            _rows(
                lambda i, c, v: {"input": _ask(c), "target_scores": {city: int(city == v) for city in CITIES}}
            ),
            (france, "Bonn"),
            "Paris",
            "Bonn",
        ),
        Shape(
            "option_records",
            _rows(
                lambda i, c, v: {
                    "prompt": _ask(c),
                    "alternatives": [{"text": city, "correct": city == v} for city in CITIES],
                }
            ),
            (france, "Bonn"),
            "Paris",
            "Bonn",
        ),
        Shape(
            "letters_in_object",
            _rows(
                lambda i, c, v: {
                    "stem": _ask(c),
                    "options": {"a": "Paris", "b": "Rome", "c": "Madrid", "d": "Bonn"},
                    "key": "abcd"[i],
                }
            ),
            (france, "Bonn"),
            "A",
            "B",
        ),
        Shape(
            "list_in_a_cell",
            _rows(lambda i, c, v: {"question": _ask(c), "choices": str(CITIES), "answer": str(i)}),
            (france, "Bonn"),
            "A",
            "B",
        ),
        Shape(
            "numpy_in_a_cell",
            _rows(
                lambda i, c, v: {
                    "question": _ask(c),
                    "choices": "['Paris' 'Rome' 'Madrid' 'Bonn']",
                    "answer": str(i),
                }
            ),
            (france, "D. Bonn"),
            "A",
            "B",
        ),
        Shape(
            "spreadsheet_numbers",
            _rows(
                lambda i, c, v: {
                    "No.": str(i + 1),
                    "Question": _ask(c),
                    "Option 1": "Paris",
                    "Option 2": "Rome",
                    "Option 3": "Madrid",
                    "Option 4": "Bonn",
                    "Correct option": str(i + 1),
                }
            ),
            (france, "Bonn"),
            "A",
            "B",
        ),
        Shape(
            "korean_options",
            _rows(
                lambda i, c, v: {
                    "번호": i + 1,
                    "문제": f"{c}의 수도는?",
                    "보기1": "Paris",
                    "보기2": "Rome",
                    "보기3": "Madrid",
                    "보기4": "Bonn",
                    "정답": i + 1,
                }
            ),
            ("France의 수도는?", "Bonn"),
            "A",
            "B",
        ),
        Shape(
            "spanish",
            _rows(
                lambda i, c, v: {
                    "pregunta": f"¿Cuál es la capital de {c}?",
                    "opción A": "Paris",
                    "opción B": "Rome",
                    "opción C": "Madrid",
                    "respuesta": LETTERS[i],
                }
            ),
            ("la capital de France", "Madrid"),
            "A",
            "B",
        ),
        Shape(
            "russian_free",
            _rows(lambda i, c, v: {"вопрос": f"Столица страны {c}?", "ответ": v}),
            ("Столица страны France?",),
            "Paris",
            "Bonn",
        ),
        Shape(
            "japanese_passage",
            _rows(lambda i, c, v: {"本文": _passage(c, v), "質問": f"{c}の首都は？", "正解": v}),
            (paris, "Franceの首都は？"),
            "Paris",
            "Bonn",
        ),
        Shape(
            "several_right",
            [
                {
                    "question": f"Which are cities of {c}?",
                    "A": v,
                    "B": f"New {v}",
                    "C": "Tokyo",
                    "answer": ["A", "B"],
                }
                for c, v in PLACES
            ],
            ("Which are cities of France?", "Tokyo"),
            "A and B",
            "C",
        ),
        Shape(
            "two_choices_marked_by_text",
            _rows(lambda i, c, v: {"q": _ask(c), "a": v, "b": "Bonn", "solution": v}),
            (france, "Bonn"),
            "A",
            "B",
        ),
        Shape(
            "claim_with_text_labels",
            [
                {
                    "claim": f"{v} is in {c}.",
                    "evidence": _passage(c, v),
                    "label": ("SUPPORTS", "REFUTES")[i % 2],
                }
                for i, (c, v) in enumerate(PLACES)
            ],
            ("Paris is in France.", paris),
            "SUPPORTS",
            "REFUTES",
        ),
        Shape(
            "setfit",
            [
                {
                    "text": f"a trip to {v} is a joy",
                    "label": i % 2,
                    "label_text": ("negative", "positive")[i % 2],
                }
                for i, (c, v) in enumerate(PLACES)
            ],
            ("a trip to Paris", "positive"),
            "negative",
            "positive",
        ),
        Shape(
            "rte",
            [
                {"sentence1": _passage(c, v), "sentence2": f"{v} is a city.", "label": i % 2, "idx": i}
                for i, (c, v) in enumerate(PLACES)
            ],
            (),
            None,
        ),
        Shape(
            "qqp",
            [
                {"question1": _ask(c), "question2": f"Which city governs {c}?", "is_duplicate": i % 2}
                for i, (c, v) in enumerate(PLACES)
            ],
            (),
            None,
        ),
        Shape(
            "ag_news",
            [{"text": f"{c} elects a parliament in {v}.", "label": i} for i, (c, v) in enumerate(PLACES)],
            (),
            None,
        ),
        Shape(
            "mbpp",
            _rows(
                lambda i, c, v: {
                    "task_id": i,
                    "text": "Write a function to add two numbers.",
                    "code": "def add(a, b):\n    return a + b",
                    "test_list": ["assert add(1, 2) == 3"],
                }
            ),
            (),
            None,
        ),
        Shape(
            "cnn_dailymail",
            _rows(
                lambda i, c, v: {"article": _passage(c, v) * 5, "highlights": _passage(c, v), "id": str(i)}
            ),
            (),
            None,
        ),
        Shape(
            "no_answers",
            _rows(lambda i, c, v: {"question": _ask(c)}),
            (),
            None,
        ),
        Shape(
            "hidden_answers",
            _rows(lambda i, c, v: {"question": _ask(c), "choices": CITIES, "answer": ""}),
            (),
            None,
        ),
        Shape(
            "unknown_names",
            _rows(lambda i, c, v: {"Land": c, "Hauptort": v}),
            (),
            None,
        ),
        Shape(
            "unnamed_passage",
            _rows(lambda i, c, v: {"case_history": _passage(c, v), "question": _ask(c), "answer": v}),
            (france, paris),
            "Paris",
            "Bonn",
        ),
        Shape(
            "alpaca_with_gaps",
            [
                {"instruction": "Name the capital of France.", "input": "", "output": "Paris"},
                {"instruction": "Name the capital of the country.", "input": "Italy", "output": "Rome"},
                {"instruction": "Name the capital of the country.", "input": "Spain", "output": "Madrid"},
            ],
            ("Name the capital of France.",),
            "Paris",
            "Bonn",
        ),
        Shape(
            "prompt_completion",
            _rows(lambda i, c, v: {"prompt": _ask(c), "completion": f" {v}"}),
            (france,),
            "Paris",
            "Bonn",
        ),
        Shape(
            "question_and_prediction",
            _rows(lambda i, c, v: {"question": _ask(c), "model_answer": "Bonn", "reference_answer": v}),
            (france,),
            "Paris",
            "Bonn",
            ("Bonn",),
        ),
        Shape(
            "answer_text_and_letter",
            _rows(
                lambda i, c, v: {
                    "question": _ask(c),
                    "A": "Paris",
                    "B": "Rome",
                    "C": "Madrid",
                    "D": "Bonn",
                    "correct_answer": f"{LETTERS[i]}. {CITIES[i]}",
                }
            ),
            (france, "Bonn"),
            "A",
            "B",
        ),
        Shape(
            "numbers",
            [{"question": f"What is {n} + 1?", "answer": n + 1} for n in (4, 11, 98)],
            ("What is 4 + 1?",),
            "So the answer is 5.",
            "So the answer is 6.",
        ),
        Shape(
            "story_of_four",
            _rows(
                lambda i, c, v: {
                    "narrative": f"Ann packed for {c}. She took the train to {v}. It was warm. She slept.",
                    "option_1": f"She woke in {v}.",
                    "option_2": "She woke in Peru.",
                    "label": 1,
                }
            ),
            ("Ann packed for France", "She woke in Peru."),
            "A",
            "B",
        ),
        Shape(
            "commonsense_nested",
            _rows(
                lambda i, c, v: {
                    "id": f"n{i}",
                    "question": {"stem": _ask(c), "question_concept": "capital"},
                    "choices": [{"label": n, "text": t} for n, t in zip(LETTERS, CITIES, strict=True)],
                    "answerKey": LETTERS[i],
                }
            ),
            (france, "Bonn"),
            "A",
            "B",
        ),
        Shape(
            "dream",
            _rows(
                lambda i, c, v: {
                    "dialogue": [f"M: I live in {v}.", "W: Oh, that is far."],
                    "dialogue_id": f"d{i}",
                    "question": "Where does the man live?",
                    "choice": CITIES,
                    "answer": v,
                }
            ),
            ("I live in Paris.", "that is far", "Where does the man live?", "Bonn"),
            "A",
            "B",
        ),
        Shape(
            "numbers_from_0_or_1",
            _rows(
                lambda i, c, v: {
                    "passage": _passage(c, v),
                    "question": "Where does the parliament meet?",
                    "choices": CITIES,
                    "answer": 2 + i % 2,
                }
            ),
            (),
            None,
        ),
        *_more(france, paris),
    ]


def _more(france: str, paris: str) -> list[Shape]:
    where = "Where does the parliament meet?"
    return [
        Shape(
            "belebele",
            _rows(
                lambda i, c, v: {
                    "question_number": i + 1,
                    "flores_passage": _passage(c, v),
                    "question": where,
                    **{f"mc_answer{n}": city for n, city in enumerate(CITIES, 1)},
                    "correct_answer_num": str(i + 1),
                    "dialect": "eng_Latn",
                }
            ),
            (paris, where, "Bonn"),
            "A",
            "B",
        ),
        Shape(
            "answers_are_options",
            _rows(
                lambda i, c, v: {
                    "context": _passage(c, v),
                    "question": where,
                    "answers": CITIES,
                    "label": i,
                    "id_string": f"train_{i}",
                }
            ),
            (paris, where, "Bonn"),
            "A",
            "B",
        ),
        Shape(
            "reference_beside_a_response",
            _rows(
                lambda i, c, v: {
                    "user_input": _ask(c),
                    "retrieved_contexts": [_passage(c, v)],
                    "response": "Bonn",
                    "reference": v,
                }
            ),
            (france, paris),
            "Paris",
            "Bonn",
        ),
        Shape(
            "expected_beside_actual_output",
            _rows(
                lambda i, c, v: {
                    "input": _ask(c),
                    "actual_output": "Bonn",
                    "expected_output": v,
                    "context": [_passage(c, v)],
                }
            ),
            (france, paris),
            "Paris",
            "Bonn",
        ),
        Shape(
            "hotpotqa",
            _rows(
                lambda i, c, v: {
                    "id": str(i),
                    "question": _ask(c),
                    "answer": v,
                    "type": "bridge",
                    "supporting_facts": {"title": ["x"], "sent_id": [0]},
                    "context": {
                        "title": ["x", "y"],
                        "sentences": [[_passage(c, v), "More."], ["Other text."]],
                    },
                }
            ),
            (france, paris, "Other text."),
            "Paris",
            "Bonn",
        ),
        Shape(
            "story_and_endings",
            _rows(
                lambda i, c, v: {
                    "story_id": f"s{i}",
                    "input_sentence_1": f"Ann went to {c}.",
                    "input_sentence_2": "It was warm.",
                    "sentence_quiz1": f"She slept in {v}.",
                    "sentence_quiz2": "She slept on Mars.",
                    "answer_right_ending": 1,
                }
            ),
            ("Ann went to France.", "It was warm.", "She slept on Mars."),
            "A",
            "B",
        ),
        Shape(
            "answer_number_beside_an_empty_answer",
            [
                {
                    "question": f"Tom has {n} pens and gets one. How many?",
                    "answer": None,
                    "answer_number": n + 1,
                }
                for n in (4, 11, 98)
            ],
            ("Tom has 4 pens",),
            "The answer is 5.",
            "The answer is 6.",
        ),
        Shape(
            "q_and_a",
            _rows(lambda i, c, v: {"q": _ask(c), "a": v}),
            (france,),
            "Paris",
            "Bonn",
        ),
        Shape(
            "arabic_letters",
            _rows(
                lambda i, c, v: {
                    "السؤال": f"ما عاصمة {c}؟",
                    "أ": "Paris",
                    "ب": "Rome",
                    "ج": "Madrid",
                    "الإجابة": "أبج"[i],
                }
            ),
            ("ما عاصمة France؟", "Madrid"),
            "Paris",
            "Rome",
        ),
        Shape(
            "hindi",
            _rows(
                lambda i, c, v: {
                    "प्रश्न": f"{c} की राजधानी?",
                    "विकल्प1": "Paris",
                    "विकल्प2": "Rome",
                    "विकल्प3": "Madrid",
                    "उत्तर": str(i + 1),
                }
            ),
            ("France की राजधानी?", "Madrid"),
            "A",
            "B",
        ),
        Shape(
            "french",
            _rows(
                lambda i, c, v: {
                    "énoncé": f"Quelle est la capitale de {c} ?",
                    "choix1": "Paris",
                    "choix2": "Rome",
                    "choix3": "Madrid",
                    "bonne_réponse": i + 1,
                }
            ),
            ("Quelle est la capitale de France ?", "Madrid"),
            "A",
            "B",
        ),
        Shape(
            "german_spreadsheet",
            _rows(
                lambda i, c, v: {
                    "Nr": str(i + 1),
                    "Frage": f"Was ist die Hauptstadt von {c}?",
                    "Antwort A": "Paris",
                    "Antwort B": "Rome",
                    "Antwort C": "Madrid",
                    "Lösung": "ABC"[i],
                }
            ),
            ("Was ist die Hauptstadt von France?", "Madrid"),
            "A",
            "B",
        ),
        Shape(
            "options_in_lines",
            _rows(
                lambda i, c, v: {
                    "question": _ask(c),
                    "options": "A. Paris\nB. Rome\nC. Madrid",
                    "answer": "ABC"[i],
                }
            ),
            (france, "C. Madrid"),
            "A",
            "B",
        ),
        Shape(
            "korean_answer_number",
            _rows(lambda i, c, v: {"질문내용": f"{c}의 수도는?", "선택지": CITIES, "정답번호": i + 1}),
            ("France의 수도는?", "Bonn"),
            "A",
            "B",
        ),
        Shape(
            "good_and_bad_answers",
            _rows(lambda i, c, v: {"prompt": _ask(c), "good_answer": v, "bad_answers": ["Bonn", "Oslo"]}),
            (france, "Bonn", "Oslo"),
            "Paris",
            "Bonn",
        ),
        Shape(
            "an_index_that_is_always_1",
            _rows(lambda i, c, v: {"prompt": _ask(c), "choices": [["A", "Bonn"], ["B", v]], "gold_idx": 1}),
            (),
            None,
        ),
        Shape(
            "two_languages",
            _rows(lambda i, c, v: {"en": f"I live in {v}.", "de": f"Ich wohne in {v}."}),
            (),
            None,
        ),
        Shape(
            "two_judgements",
            _rows(lambda i, c, v: {"paragraph": _passage(c, v), "question": where, "answer": v, "label": 1}),
            (),
            None,
        ),
    ]


def _written_shapes() -> list[Shape]:
    """Return the tables that are written out, in `table_shapes.jsonl`."""
    text = Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8")
    found = [Shape(**json.loads(line)) for line in text.splitlines()]
    return [one._replace(show=tuple(one.show), hide=tuple(one.hide)) for one in found]


SHAPES = [*_shapes(), *_written_shapes()]
