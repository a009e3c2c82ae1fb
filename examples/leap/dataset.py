"""The registry: what each dataset is about, its metrics, and the one that a leaderboard shows."""


def get_eval_datasets():
    return {
        "klue_ynat": {
            "explain": "뉴스 기사의 주제를 분류하는 능력 평가",
            "metrics": ["acc, macro_f1"],
        },
        "klue_sts": {
            "explain": "두 문장의 의미가 같은지 판단하는 능력 평가",
            "metrics": ["acc, f1"],
        },
        "korsts": {
            "explain": "번역된 두 문장의 의미가 같은지 판단하는 능력 평가",
            "metrics": ["acc, f1"],
        },
        "kornli": {
            "explain": "전제와 가설의 관계를 추론하는 능력 평가",
            "metrics": ["acc, macro_f1"],
        },
        "xquad": {
            "explain": "지문에서 질문의 답을 찾는 능력 평가 (영어)",
            "metrics": ["f1, exact_match"],
        },
    }


EVAL_DATASET_METRIC = {
    "klue_ynat": "macro_f1",
    "klue_sts": "acc",
    "korsts": "acc",
    "kornli": "acc",
    "xquad": "f1",
}
