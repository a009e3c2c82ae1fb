"""HellaSwag: rows in the standard format from RawData/hellaswag, with one field beside it."""

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
RAW = HERE / "../../RawData/hellaswag/validation.jsonl"


def standard_row(raw):
    """Return one row; further fields are the transform's to use."""
    scores = {text: int(i == int(raw["label"])) for i, text in enumerate(raw["endings"])}
    return {
        "passage": raw["ctx_a"],
        "question": raw["ctx_b"],
        "target_scores": scores,
        "answer": "",
        "activity_label": raw["activity_label"],
    }


def main():
    """Write data/hellaswag.jsonl."""
    (HERE / "data").mkdir(exist_ok=True)
    with RAW.open(encoding="utf-8") as lines:
        rows = [standard_row(json.loads(line)) for line in lines]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (HERE / "data" / "hellaswag.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
