import os

here = os.path.dirname(os.path.realpath(__file__))


def main():
    os.makedirs(os.path.join(here, "data"), exist_ok=True)
    with open(os.path.join(here, "data", "capitals.jsonl"), "w", encoding="utf-8") as rows:
        rows.write('{"question": "프랑스의 수도는?"}\n')
        raise ValueError("row 2 has no options: '일본의 수도는?'")


if __name__ == "__main__":
    main()
