"""The OpenAPI document: Litestar's, with the words that stand beside the fields in the code.

What is said of a field is written once, below it in its class, where editors and readers find it.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

import msgspec
from litestar import MediaType, Request
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.plugins import OpenAPIRenderPlugin

import assay
from assay.app.team.evaluations import EvaluationRequest
from assay.app.team.messages import CheckedTask
from assay.app.team.plan import AskedSettings
from assay.app.team.registering import NAME_PATTERN
from assay.backends.registry import BACKENDS
from assay.core.score import Metric
from assay.faces.web.api import bodies
from assay.faces.web.api.datasets import UploadForm
from assay.faces.web.api.leaderboard import TYPES
from assay.faces.web.api.router import PATH
from assay.results.leaderboard import board

_NAMED = ("NewModel", "UploadForm")
"""Bodies that register something under a name."""
_BOUNDS = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("minLength", "maxLength", "pattern", "minItems", "maxItems"),
)
_SCHEMAS = "#/components/schemas/"
_INTRODUCTION = (
    "Send a token: `Authorization: Bearer TOKEN`. A server that listens on a loopback address alone answers "
    "reading requests (GET) without one. A reader looks, a runner starts evaluations and stops "
    "their own, an owner may do everything. Errors have one shape: a code that docs/reference/errors.md "
    "explains, what is wrong, and what to do about it."
)


def openapi_config() -> OpenAPIConfig:
    """Return how the document is made and where it lies: /api/v1/openapi.json."""
    return OpenAPIConfig(
        title="Assay",
        version=assay.__version__,
        description=_INTRODUCTION,
        # Litestar answers everything else below this path with a page of its own.
        path=f"{PATH}/openapi.json",
        render_plugins=[_DocumentPlugin()],
        use_handler_docstrings=True,
    )


class _DocumentPlugin(OpenAPIRenderPlugin):
    """Writes the document as JSON, of the API alone and with the fields' words."""

    def __init__(self) -> None:
        super().__init__(path=["/", "/openapi.json"], media_type=MediaType.JSON)
        self._made: bytes | None = None

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        """Return the document."""
        if self._made is None:
            self._made = msgspec.json.encode(_describe_document(openapi_schema))
        return self._made


def _describe_document(document: dict[str, Any]) -> dict[str, Any]:
    paths = {path: item for path, item in document["paths"].items() if path.startswith(PATH)}
    exported = paths[f"{PATH}/leaderboard/{{form}}"]["get"]["responses"]["200"]
    # Litestar describes one type of an answer.
    exported["content"] = {kind: {"schema": {"type": "string"}} for kind in TYPES.values()}
    schemas = document["components"]["schemas"]
    used = {name: schemas[name] for name in sorted(_find_referenced_schemas(paths, schemas))}
    words = {cls.__name__: cls for cls in _bodies()}
    for name, schema in used.items():
        if name in words:
            _describe(schema, words[name])
        _tighten(schema)
        if name in words:
            _add_bounds(schema, words[name])
    _require_names(used)
    for item in paths.values():
        if "get" in item:
            item["get"]["security"] = [{"token": []}, {}]  # Without one on a loopback address.
    scheme = {"token": {"type": "http", "scheme": "bearer"}}
    components = {"schemas": used, "securitySchemes": scheme}
    return {**document, "paths": paths, "components": components, "security": [{"token": []}]}


def _tighten(part: Any) -> None:
    """Have a schema reject what the server rejects.

    Litestar describes `tuple[X, ...]` as items of X or of anything.
    """
    if isinstance(part, list):
        for one in part:
            _tighten(one)
    elif isinstance(part, dict):
        if isinstance(part.get("oneOf"), list) and {} in part["oneOf"]:
            (only,) = (one for one in part.pop("oneOf") if one)
            part.update(only)
        for one in part.values():
            _tighten(one)
        if part.get("title") == "UploadForm":
            # A part that is left out is not null, and one that is there is a file.
            (part["properties"]["meta"],) = (
                {**one, "description": part["properties"]["meta"]["description"]}
                for one in part["properties"]["meta"]["oneOf"]
                if one != {"type": "null"}
            )


def _add_bounds(schema: dict[str, Any], cls: type[msgspec.Struct]) -> None:
    """Add what the server checks and Litestar leaves out: bounds that are 0 or of items, unknown fields."""
    if cls.__struct_config__.forbid_unknown_fields:
        schema["additionalProperties"] = False
    if cls is UploadForm:
        return  # It has files, which JSON does not know, and neither numbers nor lists.
    _, components = msgspec.json.schema_components([cls])
    for name, checked in components[cls.__name__].get("properties", {}).items():
        _add_value_bounds(schema["properties"][name], checked)


def _require_names(schemas: dict[str, Any]) -> None:
    """Add what names and models must look like, which is checked when they are registered."""
    for body in _NAMED:
        schemas[body]["properties"]["name"]["pattern"] = f"^{NAME_PATTERN}$"
    schemas["NewModel"]["properties"]["spec"]["pattern"] = f"^({'|'.join(sorted(BACKENDS))})(:[^\\u0000]*)?$"


def _add_value_bounds(described: dict[str, Any], checked: dict[str, Any]) -> None:
    """Add the bounds of a value, or of the items of a list, as msgspec checks them."""
    for one in checked.get("anyOf", [checked]):
        described.update({key: one[key] for key in _BOUNDS if key in one})
        for part in (described, *described.get("oneOf", ())):
            if "items" in one and "items" in part:
                _add_value_bounds(part["items"], one["items"])


def _find_referenced_schemas(part: Any, schemas: dict[str, Any]) -> set[str]:
    """Return the schemas that a part of the document refers to, and those that these refer to."""
    found: set[str] = set()
    waiting = [part]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            name = str(one.get("$ref", "")).removeprefix(_SCHEMAS)
            if name in schemas and name not in found:
                found.add(name)
                waiting.append(schemas[name])
            waiting += one.values()
    return found


def _describe(schema: dict[str, Any], cls: type[msgspec.Struct]) -> None:
    schema["description"] = inspect.getdoc(cls)
    words = read_field_docs(cls)
    for name, field in schema.get("properties", {}).items():
        if name in words:
            # Beside a reference, other keys count since version 3.1 of the standard.
            field["description"] = words[name]


def _bodies() -> Iterator[type[msgspec.Struct]]:
    yield from (EvaluationRequest, AskedSettings, CheckedTask, Metric, UploadForm)
    for one in (*vars(bodies).values(), *vars(board).values()):
        if isinstance(one, type) and issubclass(one, msgspec.Struct):
            yield one


def read_field_docs(cls: type[msgspec.Struct]) -> dict[str, str]:
    """Return the text that stands below each field of a class."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(tree, ast.ClassDef)
    words = {}
    for field, text in zip(tree.body, tree.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
        ):
            words[field.target.id] = inspect.cleandoc(ast.literal_eval(text.value))
    return words
