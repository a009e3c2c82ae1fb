"""The pages round as the terminal does: `numbers.js` against `core/rounding.py`."""

from __future__ import annotations

from typing import Any

from assay.core.rounding import format_number, format_percent, format_seconds
from browser.modules import module_address

TIMES = [10.0**power * factor for power in range(-7, 5) for factor in (1, 1.2345, 2.0625, 9.995, 9.99951)]
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
    shares = [k / n for n in range(1, 201) for k in range(n + 1)]
    script = """async ([module, shares, numbers]) => {
        const { inPercent, plain } = await import(module);
        return [shares.flatMap((one) => [inPercent(one), inPercent(-one, 2), inPercent(one, 0)]),
            numbers.map(plain)];
    }"""
    shown, numbers = browser_page.evaluate(script, [module_address("numbers"), shares, list(PLAIN)])
    assert shown == [
        text
        for one in shares
        for text in (format_percent(one), format_percent(-one, 2), format_percent(one, 0))
    ]
    assert numbers == [format_number(one) for one in PLAIN]


def test_times_have_the_digits_of_the_notes_that_python_writes(browser_page: Any) -> None:
    script = "async ([module, times]) => { const { time } = await import(module); return times.map(time); }"
    shown = browser_page.evaluate(script, [module_address("numbers"), [0, *TIMES]])
    assert shown == [format_seconds(one) for one in (0, *TIMES)]
