"""The pages round as the terminal does: `numbers.js` against `core/rounding.py`."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import assay
from assay.core.rounding import format_number, format_percent

NUMBERS = Path(assay.__file__).parent / "results" / "pages" / "assets" / "numbers.js"
PLAIN = (
    0.0,
    2.0625,
    -2.0625,
    9.99996,
    0.00012345,
    0.0000123,
    999.95,
    1234.25,
    -1234.25,
    2.5e6,
    1.5e12,
    0.3,
    1 / 3,
)


def test_every_share_of_up_to_200_rows_has_the_digits_of_the_terminal(browser_page: Any) -> None:
    module = "data:text/javascript;base64," + base64.b64encode(NUMBERS.read_bytes()).decode()
    shares = [k / n for n in range(1, 201) for k in range(n + 1)]
    script = """async ([module, shares, numbers]) => {
        const { inPercent, plain } = await import(module);
        return [shares.flatMap((one) => [inPercent(one), inPercent(-one, 2), inPercent(one, 0)]),
            numbers.map(plain)];
    }"""
    shown, numbers = browser_page.evaluate(script, [module, shares, list(PLAIN)])
    assert shown == [
        text
        for one in shares
        for text in (format_percent(one), format_percent(-one, 2), format_percent(one, 0))
    ]
    assert numbers == [format_number(one) for one in PLAIN]
