from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from assay.results.pages import bundle

PARSES_MARKUP = re.compile(
    r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc|"
    r"setHTMLUnsafe|parseHTMLUnsafe|eval|new Function|importScripts)\b"
)


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(bundle, "ASSETS", tmp_path)
    return tmp_path


def joined(modules: Path, **texts: str) -> str:
    for name, text in texts.items():
        (modules / f"{name}.js").write_text(text, encoding="utf-8")
    return bundle.build_script.__wrapped__("app")


def test_modules_stand_after_those_that_they_need(modules: Path) -> None:
    script = joined(
        modules,
        app='import { b } from "./two.js";\nimport { a } from "./one.js";\nb(a);\n',
        two='import { a } from "./one.js";\nexport function b() { return a; }\n',
        one="const hidden = 1;\nexport const a = hidden;\n",
    )
    assert script.index("const $one") < script.index("const $two") < script.index("const $app")
    assert script.count("const $one") == 1
    assert "export" not in script
    assert "const { a } = $one;" in script
    assert "return { b };" in script


def test_modules_that_need_each_other_are_rejected(modules: Path) -> None:
    with pytest.raises(ValueError, match="app -> one -> app"):
        joined(modules, app='import { a } from "./one.js";\n', one='import { x } from "./app.js";\n')


@pytest.mark.parametrize("line", ['import x from "./one.js";', "export default 1;", "export { a };"])
def test_what_cannot_be_read_is_rejected(modules: Path, line: str) -> None:
    with pytest.raises(ValueError, match="cannot read"):
        joined(modules, app=f"const a = 1;\n{line}\n")


def test_no_module_makes_markup_from_text() -> None:
    for path in bundle.ASSETS.glob("*.js"):
        found = PARSES_MARKUP.search(path.read_text(encoding="utf-8"))
        assert found is None, f"{path.name}: {found}"


def test_nothing_is_asked_of_the_network_by_name() -> None:
    for path in bundle.ASSETS.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|@import|url\(", text), path.name


def modules_of(entry: bundle.EntryModule) -> set[str]:
    return set(re.findall(r"^const \$(\w+) = ", bundle.build_script(entry), re.MULTILINE))


def test_every_module_is_part_of_a_script() -> None:
    used = {module for entry in get_args(bundle.EntryModule) for module in modules_of(entry)}
    assert {path.stem for path in bundle.ASSETS.glob("*.js")} == used


def test_a_page_of_one_file_carries_no_other_page() -> None:
    assert "evaluations_page" not in modules_of("run_file")
    assert "board_page" not in modules_of("compare_file")
    assert len(bundle.build_script("run_file")) < 0.7 * len(bundle.build_script("app"))


def test_a_class_is_styled_in_one_file() -> None:
    """All styles travel together, so a name that two pages use for two things breaks both."""
    owners: dict[str, set[str]] = {}
    for path in bundle.ASSETS.glob("*.css"):
        for selectors in re.findall(r"([^{}]+)\{", path.read_text(encoding="utf-8")):
            for selector in selectors.split(","):
                found = re.match(r"\s*(?P<first>[a-z]*\.[\w-]+)", selector)
                if found is not None and path.stem != "base":
                    owners.setdefault(found["first"], set()).add(path.stem)
    assert {name: files for name, files in owners.items() if len(files) > 1} == {}
