"""GSM8K: rows in the standard format from RawData/gsm8k; solved ones to show go into a file of their own."""

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
RAW = HERE / "../../RawData/gsm8k"
FILES = {"gsm8k": "test.jsonl", "examples": "train.jsonl"}


def standard_row(raw):
    """Return one row; its answer is a whole solution, which ends in `#### ` and a number."""
    return {"passage": "", "question": raw["question"], "target_scores": {}, "answer": raw["answer"]}


def main():
    """Write data/gsm8k.jsonl, and data/examples.jsonl for --shots-from."""
    (HERE / "data").mkdir(exist_ok=True)
    for name, file in FILES.items():
        with (RAW / file).open(encoding="utf-8") as lines:
            rows = [standard_row(json.loads(line)) for line in lines]
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (HERE / "data" / f"{name}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
