"""AISBench's made-up datasets by name, for whoever has no checkout of it: the same values as its files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_STRING: Mapping[str, Any] = {
    "Type": "string",
    "RequestCount": 10,
    "TrustRemoteCode": False,
    "StringConfig": {
        "Input": {"Method": "uniform", "Params": {"MinValue": 1, "MaxValue": 200}},
        "Output": {
            "Method": "gaussian",
            "Params": {"Mean": 100, "Var": 200, "MinValue": 1, "MaxValue": 100},
        },
    },
}
_TOKEN_IDS: Mapping[str, Any] = {
    "Type": "tokenid",
    "RequestCount": 10,
    "TrustRemoteCode": False,
    "TokenIdConfig": {"RequestSize": 10, "PrefixLen": 0},
}

LOAD_PRESET_NAME = "synthetic"
"""What results of each of them are filed under."""
LOAD_PRESETS: Mapping[str, Mapping[str, Any]] = {
    "synthetic_gen_string": _STRING,
    "synthetic_gen_tokenid": _TOKEN_IDS,
}
"""The `config` of each name."""
