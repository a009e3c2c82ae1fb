"""ARC: rows in the standard format from RawData/arc, a file for each of its two parts."""

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
RAW = HERE / "../../RawData/arc"
PARTS = {"easy": "ARC-Easy", "challenge": "ARC-Challenge"}


def standard_row(raw):
    """Return one row; the options keep their order, which gives them their letters."""
    texts, labels = raw["choices"]["text"], raw["choices"]["label"]
    scores = {text: int(label == raw["answerKey"]) for text, label in zip(texts, labels, strict=True)}
    return {"passage": "", "question": raw["question"], "target_scores": scores, "answer": ""}


def main():
    """Write data/easy.jsonl and data/challenge.jsonl."""
    (HERE / "data").mkdir(exist_ok=True)
    for task, part in PARTS.items():
        with (RAW / part / "validation.jsonl").open(encoding="utf-8") as lines:
            rows = [standard_row(json.loads(line)) for line in lines]
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (HERE / "data" / f"{task}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
