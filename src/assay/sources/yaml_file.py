"""YAML files: a list of mappings, or a mapping with a list called `tests`, as promptfoo writes them.

The only module that imports PyYAML.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.core.errors import AuthorError, Problem, listing
from assay.core.origin import Origin
from assay.sources.faults import build_no_rows_error, build_unreadable_error
from assay.sources.record import Record
from assay.sources.source import Report, Source

_TESTS = "tests"
_FIX = "write a list of mappings, each beginning with '- ', or a mapping with such a list as 'tests'"
_BESIDE_TESTS = ("defaultTest", "scenarios")
"""Keys of a promptfoo config that change the tests."""
_TIMESTAMP = "tag:yaml.org,2002:timestamp"


class YamlSource(Source):
    """A YAML document, loaded completely. Records know the line on which they begin."""

    def _read(self, report: Report) -> Iterator[Record]:
        node, loader = _compose_document(self.path)
        if node is None:
            raise build_no_rows_error(self.path, "an empty document")
        rows = self._rows(node, loader)
        if not rows:
            raise build_no_rows_error(self.path, "an empty list")
        for row, item in enumerate(rows, 1):
            where = Origin(self.path, row, item.start_mark.line + 1)
            fields = loader.construct_object(item, deep=True)
            if isinstance(fields, dict) and all(isinstance(name, str) for name in fields):
                yield Record(fields, where)
            else:
                what = f"expected a mapping with text keys, found {fields!r:.60}"
                report(Problem("SOURCE-007", what, _FIX, where))

    def _rows(self, node: Any, loader: Any) -> list[Any]:
        keys = (
            {} if node.id != "mapping" else {loader.construct_object(key): value for key, value in node.value}
        )
        if changed := [key for key in _BESIDE_TESTS if key in keys]:
            what = f"the file has {listing(changed)} besides 'tests', which changes every test"
            fix = "copy its settings into the tests, and remove it"
            raise AuthorError(Problem("SOURCE-007", what, fix, Origin(self.path)))
        table = keys.get(_TESTS, node)
        if table.id == "sequence":
            items: list[Any] = table.value
            return items
        found = f"a mapping with the keys {listing(map(str, keys))}" if keys else f"a {table.id}"
        what = f"expected a list of mappings, found {found}"
        raise AuthorError(Problem("SOURCE-007", what, _FIX, Origin(self.path)))


def read_yaml(path: str) -> Any:
    """Return the content of a YAML document; raise an AuthorError if it cannot be read."""
    node, loader = _compose_document(path)
    return None if node is None else loader.construct_object(node, deep=True)


def _compose_document(path: str) -> tuple[Any, Any]:
    """Return the root node of a document, and the loader that converts nodes to values."""
    import yaml

    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        loader = _loader()(text)
        return loader.get_single_node(), loader
    except UnicodeDecodeError as error:
        what = f"byte {error.start} is not utf-8"
        raise AuthorError(Problem("SOURCE-004", what, "save the file as utf-8", Origin(path))) from None
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        what = f"broken YAML: {getattr(error, 'problem', None) or error}"
        where = Origin(path, line=None if mark is None else mark.line + 1)
        raise AuthorError(Problem("SOURCE-006", what, "fix the file at this position", where)) from None
    except OSError as error:
        raise build_unreadable_error(path, error) from None


def _loader() -> Any:
    """Return a loader that produces JSON values: a date stays a text."""
    import yaml

    resolvers = {
        first: [(tag, pattern) for tag, pattern in known if tag != _TIMESTAMP]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return type("Loader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": resolvers})
