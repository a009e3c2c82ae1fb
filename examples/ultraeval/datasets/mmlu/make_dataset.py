"""MMLU: rows in the standard format from RawData/mmlu, a file for each subject.

Options are the keys of an object, so two of the same text cannot be written: such a row is left out.
"""

import csv
import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
RAW = HERE / "../../RawData/mmlu"
FOLDERS = {"test": HERE / "data", "dev": HERE / "data" / "dev"}
N_OPTIONS = 4


def standard_row(raw):
    """Return one row; the answer of the raw row is the index of an option."""
    scores = {raw[f"choice{i}"]: int(i == int(raw["answer"])) for i in range(N_OPTIONS)}
    return {"passage": "", "question": raw["question"], "target_scores": scores, "answer": ""}


def main():
    """Write data/SUBJECT.jsonl, and data/dev/SUBJECT.jsonl for --shots-from."""
    for split, folder in FOLDERS.items():
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted((RAW / split).glob(f"*_{split}.csv")):
            with path.open(encoding="utf-8", newline="") as file:
                rows = [standard_row(raw) for raw in csv.DictReader(file)]
            rows = [row for row in rows if len(row["target_scores"]) == N_OPTIONS]
            subject = path.stem.removesuffix(f"_{split}").replace("_", "-")
            text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            (folder / f"{subject}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
