"""BoolQ: rows in the standard format from RawData/boolq."""

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
RAW = HERE / "../../RawData/boolq/validation.jsonl"


def standard_row(raw):
    """Return one row; the two words are the options."""
    scores = {"yes": int(raw["answer"]), "no": int(not raw["answer"])}
    return {"passage": raw["passage"], "question": raw["question"], "target_scores": scores, "answer": ""}


def main():
    """Write data/boolq.jsonl."""
    (HERE / "data").mkdir(exist_ok=True)
    with RAW.open(encoding="utf-8") as lines:
        rows = [standard_row(json.loads(line)) for line in lines]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (HERE / "data" / "boolq.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
