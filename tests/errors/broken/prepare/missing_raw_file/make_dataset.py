import os

here = os.path.dirname(os.path.realpath(__file__))

if __name__ == "__main__":
    with open(os.path.join(here, "../../RawData/capitals/수도.jsonl"), encoding="utf-8") as raw:
        print(raw.read())
