"""What providers charge: prices per million tokens, and the tokens that a response is charged for."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

REPORTED = "reported"
"""Written instead of a price: the server reports the cost of each reply."""
_PER = 1_000_000

Dollars: TypeAlias = Annotated[float, msgspec.Meta(ge=0)]


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The price of a model, in US dollars per million tokens."""

    input: Dollars
    output: Dollars
    """Also for the tokens of thoughts."""
    cached_input: Dollars | None = None
    """For prompt tokens that the provider read from its prompt cache; None: the price of other input."""
    batch_discount: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    """Discount on requests sent by --batch: 0.5 is half the price."""


ListedPrice: TypeAlias = Price | Literal["reported"]


class Bill(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a provider charges for: the tokens of a response's calls, and their cost if it reports one."""

    n_input: int = 0
    n_cached: int = 0
    """Those of the input tokens that the provider read from its prompt cache."""
    n_output: int = 0
    """With the tokens of thoughts."""
    usd: float | None = None
    """The reported cost; None: not reported."""

    @property
    def n_tokens(self) -> int:
        """Return all tokens."""
        return self.n_input + self.n_output

    def plus(self, other: Bill) -> Bill:
        """Return the sum; its cost is known only if both are."""
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Bill(
            self.n_input + other.n_input, self.n_cached + other.n_cached, self.n_output + other.n_output, usd
        )


def compute_usd(bill: Bill, price: Price | None, *, is_batch: bool = False) -> float | None:
    """Return the cost of a bill: by the listed price, else as reported; None if neither is known.

    A server that does not count tokens cannot be priced by them.
    """
    if price is None or not bill.n_tokens:
        return bill.usd
    cached = price.input if price.cached_input is None else price.cached_input
    usd = (
        (bill.n_input - bill.n_cached) * price.input + bill.n_cached * cached + bill.n_output * price.output
    ) / _PER
    return usd * (1 - price.batch_discount) if is_batch else usd


def read_prices(table: Any) -> dict[str, ListedPrice]:
    """Return the prices by model name; raise ValueError that names the wrong entry."""
    if not isinstance(table, Mapping):
        raise ValueError('write a table: [prices."openai:gpt-5"]')
    prices: dict[str, ListedPrice] = {}
    for name, entry in table.items():
        if isinstance(entry, Price) or entry == REPORTED:
            prices[name] = entry
            continue
        if not isinstance(entry, Mapping):
            raise ValueError(f'the price of {name!r} is {entry!r}: write input and output, or "{REPORTED}"')
        try:
            prices[name] = msgspec.convert(entry, Price)
        except msgspec.ValidationError as error:
            raise ValueError(
                f"the price of {name!r} is {dict(entry)!r}: {error}; write US dollars per million tokens: "
                "input, output, and if needed cached_input and batch_discount"
            ) from None
    return prices


def find_price(prices: Mapping[str, ListedPrice], model: str) -> ListedPrice | None:
    """Return the price of a model by its name, with or without its address, or by the longest pattern."""
    names = (model, model.partition("@")[0])
    for name in names:
        if name in prices:
            return prices[name]
    matching = [pattern for pattern in prices if any(fnmatchcase(name, pattern) for name in names)]
    return prices[max(matching, key=len)] if matching else None


def format_price_lines(model: str) -> str:
    """Return the lines of assay.toml that give a model a price, to fill in."""
    name = model.partition("@")[0]
    return f'[prices."{name}"]\ninput = 0.00   # US dollars per million tokens\noutput = 0.00'


def format_usd(usd: float) -> str:
    """Return an amount with the digits that matter: cents, or two digits of less than a cent."""
    if usd == 0 or usd >= 0.1:
        return f"{usd:,.2f} USD"
    digits = f"{usd:.2g}"
    return f"{digits if 'e' not in digits else f'{usd:.8f}'.rstrip('0').rstrip('.') or '0'} USD"
