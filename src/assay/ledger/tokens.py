"""Access tokens with roles. Only hashes of their secrets are stored.

A token is `assay_ID_SECRET`: the id finds the row, and the hash of the secret is compared in constant time.
The secret is 32 random bytes, so one round of SHA-256 is enough: it cannot be guessed.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Any

import sqlalchemy
from sqlalchemy import Column, Double, LargeBinary, Table, Text
from sqlalchemy.exc import IntegrityError

from assay.core.errors import Problem, StoreError
from assay.core.roles import Bearer, Role
from assay.core.team import Token
from assay.ledger.schema import METADATA

if TYPE_CHECKING:
    from assay.ledger.database import Database

_BEGINNING = "assay"
_LONGEST = 200
"""Longer texts are not hashed."""


_tokens = Table(
    "assay_tokens",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("role", Text, nullable=False),
    Column("secret_hash", LargeBinary, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
)
_c = _tokens.c


class Tokens:
    """The tokens of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, name: str, role: Role, *, lasts_s: float | None = None) -> str:
        """Create a token and return it. It cannot be shown again."""
        number, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        with self._database.begin_write() as connection:
            now = self._database.now(connection)
            row = {
                "id": number,
                "name": name,
                "role": role,
                "secret_hash": _hash(secret),
                "created_at": now,
                "expires_at": None if lasts_s is None else now + lasts_s,
            }
            try:
                connection.execute(_tokens.insert().values(row))
            except IntegrityError as error:
                what = f"a token {name!r} already exists"
                raise StoreError(
                    Problem("TEAM-020", what, "revoke it first, or choose another name")
                ) from error
        return f"{_BEGINNING}_{number}_{secret}"

    def bearer(self, token: str) -> Bearer | None:
        """Return the bearer of a token; None if it is unknown, revoked or expired."""
        beginning, _, rest = token.partition("_")
        number, _, secret = rest.partition("_")
        is_number = number.isascii() and number.isalnum()
        if len(token) > _LONGEST or beginning != _BEGINNING or not is_number:
            return None
        with self._database.begin_read() as connection:
            row = connection.execute(sqlalchemy.select(_tokens).where(_c.id == number)).one_or_none()
            now = self._database.now(connection)
        # The same work without a row, so that the duration reveals nothing.
        is_right = hmac.compare_digest(_hash(secret), bytes(row.secret_hash) if row else _hash(""))
        if row is None or not is_right or (row.expires_at is not None and row.expires_at <= now):
            return None
        return Bearer(row.name, Role(row.role))

    def every(self) -> list[Token]:
        """Return all tokens, by name."""
        with self._database.begin_read() as connection:
            rows = connection.execute(sqlalchemy.select(_tokens))
            return sorted(map(_token, rows), key=lambda token: token.name)

    def revoke(self, name: str) -> None:
        """Revoke a token immediately."""
        with self._database.begin_write() as connection:
            if not connection.execute(_tokens.delete().where(_c.name == name)).rowcount:
                what = f"there is no token {name!r}"
                raise StoreError(Problem("TEAM-021", what, "run `assay serve token list` to see the tokens"))


def _token(row: sqlalchemy.Row[Any]) -> Token:
    return Token(row.name, Role(row.role), row.created_at, row.expires_at)


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
