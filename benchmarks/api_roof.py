"""The least that a client of a chat server can do with aiohttp: what `api.py` compares clients with.

    python benchmarks/api_roof.py QUESTIONS.csv http://127.0.0.1:8000/v1 64

It reads the questions, asks each once over so many connections, and counts the right letters. It keeps no
journal, tries nothing again, and holds nothing back.
"""

from __future__ import annotations

import asyncio
import csv
import json
import sys
from collections.abc import Iterator

import aiohttp


async def ask_all(path: str, url: str, n_connections: int) -> tuple[int, int]:
    """Return how many questions there were, and how many were answered with the right letter."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = iter(csv.DictReader(file))
        connector = aiohttp.TCPConnector(limit=n_connections)
        async with aiohttp.ClientSession(connector=connector) as session:
            asked = [_ask_some(session, url, rows) for _ in range(n_connections)]
            answered = [is_right for some in await asyncio.gather(*asked) for is_right in some]
    return len(answered), sum(answered)


async def _ask_some(session: aiohttp.ClientSession, url: str, rows: Iterator[dict[str, str]]) -> list[bool]:
    answered = []
    for row in rows:
        options = "\n".join(f"{letter}. {row[letter]}" for letter in "ABCD")
        prompt = f"Question: {row['question']}\n{options}"
        body = {"model": "m", "messages": [{"role": "user", "content": prompt}], "max_tokens": 256}
        async with session.post(f"{url}/chat/completions", data=json.dumps(body).encode()) as reply:
            said = json.loads(await reply.read())["choices"][0]["message"]["content"]
        answered.append(said[-1] == row["answer"])
    return answered


def main() -> None:
    """Ask, and print the share of right answers."""
    path, url, n_connections = sys.argv[1:]
    n_asked, n_right = asyncio.run(ask_all(path, url, int(n_connections)))
    print(f"accuracy {n_right / n_asked}")


if __name__ == "__main__":
    main()
