import os

here = os.path.dirname(os.path.realpath(__file__))

if __name__ == "__main__":
    os.makedirs(os.path.join(here, "data"), exist_ok=True)
    with open(os.path.join(here, "data", "big_cities.jsonl").replace("_", "-"), "w") as rows:
        rows.write("{}\n")
