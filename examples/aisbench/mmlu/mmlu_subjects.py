"""The subjects of MMLU by their fields, each with the number of its questions, and the means over them."""

humanities = {
    "formal_logic": 126,
    "high_school_european_history": 165,
    "high_school_us_history": 204,
    "high_school_world_history": 237,
    "international_law": 121,
    "jurisprudence": 108,
    "logical_fallacies": 163,
    "moral_disputes": 346,
    "moral_scenarios": 895,
    "philosophy": 311,
    "prehistory": 324,
    "professional_law": 1534,
    "world_religions": 171,
}
stem = {
    "abstract_algebra": 100,
    "astronomy": 152,
    "college_biology": 144,
    "college_chemistry": 100,
    "college_computer_science": 100,
    "college_mathematics": 100,
    "college_physics": 102,
    "computer_security": 100,
    "conceptual_physics": 235,
    "electrical_engineering": 145,
    "elementary_mathematics": 378,
    "high_school_biology": 310,
    "high_school_chemistry": 203,
    "high_school_computer_science": 100,
    "high_school_mathematics": 270,
    "high_school_physics": 151,
    "high_school_statistics": 216,
    "machine_learning": 112,
}
social_sciences = {
    "econometrics": 114,
    "high_school_geography": 198,
    "high_school_government_and_politics": 193,
    "high_school_macroeconomics": 390,
    "high_school_microeconomics": 238,
    "high_school_psychology": 545,
    "human_sexuality": 131,
    "professional_psychology": 612,
    "public_relations": 110,
    "security_studies": 245,
    "sociology": 201,
    "us_foreign_policy": 100,
}
other = {
    "anatomy": 135,
    "business_ethics": 100,
    "clinical_knowledge": 265,
    "college_medicine": 173,
    "global_facts": 100,
    "human_aging": 223,
    "management": 103,
    "marketing": 234,
    "medical_genetics": 100,
    "miscellaneous": 783,
    "nutrition": 306,
    "professional_accounting": 282,
    "professional_medicine": 272,
    "virology": 166,
}
mmlu_subjects = {**humanities, **stem, **social_sciences, **other}

mmlu_summary_groups = [
    dict(name=f"mmlu_{field}", subsets=[f"mmlu_{subject}" for subject in subjects])
    for field, subjects in (
        ("humanities", humanities),
        ("stem", stem),
        ("social_sciences", social_sciences),
        ("other", other),
        ("all", mmlu_subjects),
    )
]
# A large subject counts for more: the mean over all questions.
mmlu_summary_groups.append(
    dict(
        name="mmlu_weighted",
        subsets=[f"mmlu_{subject}" for subject in mmlu_subjects],
        weights={f"mmlu_{subject}": n_questions for subject, n_questions in mmlu_subjects.items()},
    )
)
