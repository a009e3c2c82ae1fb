"""Symbols: names that a config imports from other packages, without loading the code.

A config only passes classes and functions on as values (`type=GenInferencer`), so the name is enough to read
it. Running the dataset looks the name up.
"""

from __future__ import annotations

from typing import Any, NoReturn


class SymbolUseError(TypeError):
    """Raised if a config uses an imported name in a way that needs the code."""


class Symbol:
    """A class, function or value of a module, by name. Equal to every import of the same name."""

    __slots__ = ("module", "name")

    module: str
    """The module it was imported from, dotted; empty for a package itself and for a registered name."""
    name: str

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    @classmethod
    def of(cls, dotted: str) -> Symbol:
        """Return the symbol for a dotted name."""
        module, _, name = dotted.rpartition(".")
        return cls(module, name)

    def __repr__(self) -> str:
        return f"{self.module}.{self.name}" if self.module else self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Symbol) and (self.module, self.name) == (other.module, other.name)

    def __hash__(self) -> int:
        return hash((self.module, self.name))

    def __getattr__(self, name: str) -> Symbol:
        # Python looks up special methods on values; a symbol has none of these.
        if name.startswith("__"):
            raise AttributeError(name)
        return Symbol(repr(self), name)

    def __copy__(self) -> Symbol:
        return self

    def __deepcopy__(self, memo: object) -> Symbol:
        return self

    def __reduce__(self) -> tuple[type[Symbol], tuple[str, str]]:
        return Symbol, (self.module, self.name)

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        """Allow a config to define a subclass of an imported class, which is never instantiated here."""
        return ()

    # In a text, the name would appear instead of the value.
    def __format__(self, spec: str) -> NoReturn:
        self._reject("written into a text")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise, because the code is not loaded."""
        self._reject("called")

    def __iter__(self) -> NoReturn:
        self._reject("iterated over")

    def __len__(self) -> NoReturn:
        self._reject("measured with len()")

    def __bool__(self) -> bool:
        return True

    def __contains__(self, item: object) -> NoReturn:
        self._reject("searched with 'in'")

    def __getitem__(self, key: object) -> NoReturn:
        self._reject("indexed")

    def __add__(self, other: object) -> NoReturn:
        self._reject("added to something")

    __radd__ = __add__

    def _reject(self, use: str) -> NoReturn:
        raise SymbolUseError(f"{self!r} is {use}")
