"""Workbooks: sheets, headers, the values of cells, and the cells that have none."""

from __future__ import annotations

import contextlib
import datetime
import io
import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AuthorError, Problem
from assay.core.ids import make_random
from assay.core.origin import Origin
from assay.sources import workbook_cells
from assay.sources.file_settings import FileSettings
from assay.sources.files import open_source
from assay.sources.source import Source

openpyxl: Any = pytest.importorskip("openpyxl", reason="writes the workbooks of these tests")
pytest.importorskip("python_calamine", reason="needs the extra xlsx")

ProblemOf = Callable[[Callable[[], object]], Problem]
ROWS: list[list[Any]] = [["question", "answer"], ["1+1=", 2], ["2+2=", 4]]


def workbook(path: Path, sheets: dict[str, list[Any]], change: Callable[[Any], None] | None = None) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    if change is not None:
        change(book)
    book.save(path)
    return path


def opened(path: Path, **message: Any) -> Source:
    return open_source(path, FileSettings(**message))


def rows(source: Source) -> list[list[object]]:
    source.check()
    return [list(record.fields.values()) for record in source.records()]


def open_document(path: Path, sheets: dict[str, str]) -> Path:
    """Write an .ods file from the XML of its rows."""
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text")
    )
    calc = 'xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"'
    tables = "".join(
        f'<table:table table:name="{name}">{body}</table:table>' for name, body in sheets.items()
    )
    content = (
        f"<office:document-content {spaces} {calc}><office:body><office:spreadsheet>{tables}"
        "</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", kind)
        archive.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
            f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
            '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
            "</manifest:manifest>",
        )
        archive.writestr("content.xml", content)
    return path


def row(*cells: object, repeated: int = 1) -> str:
    """Return the XML of a row: texts, numbers, empty cells (None) and XML as it is."""
    made = ""
    for cell in cells:
        if isinstance(cell, str) and cell.startswith("<"):
            made += cell
        elif isinstance(cell, str):
            made += f'<table:table-cell office:value-type="string"><text:p>{cell}</text:p></table:table-cell>'
        elif cell is None:
            made += "<table:table-cell/>"
        else:
            made += (
                f'<table:table-cell office:value-type="float" office:value="{cell}">'
                f"<text:p>{cell}</text:p></table:table-cell>"
            )
    return f'<table:table-row table:number-rows-repeated="{repeated}">{made}</table:table-row>'


def test_values_have_their_types_and_places(tmp_path: Path) -> None:
    made = [
        ["text", "whole", "fraction", "truth", "day", "moment", "time", "empty"],
        [
            "007",
            3,
            2.5,
            True,
            datetime.date(2024, 5, 6),
            datetime.datetime(2024, 5, 6, 7, 8),  # noqa: DTZ001
            datetime.time(9),
            None,
        ],
        ["x", 3.0, 1e20, False, None, None, None, "end"],
    ]
    path = workbook(tmp_path / "a.xlsx", {"Sheet": made})
    source = opened(path)
    first, second = source.records()
    assert first.fields == {
        "text": "007",
        "whole": 3,
        "fraction": 2.5,
        "truth": True,
        "day": "2024-05-06",
        "moment": "2024-05-06 07:08:00",
        "time": "09:00:00",
        "empty": "",
    }
    assert type(first.fields["whole"]) is int
    assert type(second.fields["fraction"]) is float
    assert first.origin == Origin(str(path), 1, 2, sheet="Sheet")
    assert str(second.origin.at("text")) == f"{path} sheet 'Sheet' row 3, column 'text'"
    assert any("'2024-05-06'" in note and "'day'" in note for note in source.notes)


def test_the_table_may_begin_anywhere_and_have_gaps(tmp_path: Path) -> None:
    def far(book: Any) -> None:
        sheet = book["S"]
        for place, value in {
            "C5": "question",
            "E5": "answer",
            "C6": "a",
            "E6": 1,
            "C9": "b",
            "E9": 2,
        }.items():
            sheet[place] = value

    source = opened(workbook(tmp_path / "a.xlsx", {"S": []}, far))
    assert source.columns == ("question", "answer")
    assert rows(source) == [["a", 1], ["b", 2]]
    assert [record.origin.line for record in source.records()] == [6, 9]


def test_the_only_sheet_that_holds_something_is_read(tmp_path: Path, problem_of: ProblemOf) -> None:
    source = opened(workbook(tmp_path / "a.xlsx", {"Empty": [], "Data": ROWS, "Too": []}))
    assert rows(source) == ROWS[1:]
    assert source.notes == ("sheet 'Data' is read; not read: 'Empty', 'Too'",)
    two = workbook(tmp_path / "b.xlsx", {"Train": ROWS, "Test set": ROWS[:2]})
    problem = problem_of(opened(two).check)
    assert problem.code == "SOURCE-016"
    assert f"assay run {two} --sheet Train" in problem.fix
    assert "--sheet 'Test set'" in problem.fix
    assert rows(opened(two, sheet="Test set")) == [["1+1=", 2]]
    assert "did you mean 'Train'" in problem_of(opened(two, sheet="Trian").check).what


def test_hidden_sheets_are_read_only_by_name(tmp_path: Path) -> None:
    def hide(book: Any) -> None:
        book["Notes"].sheet_state = "hidden"

    path = workbook(tmp_path / "a.xlsx", {"Data": ROWS, "Notes": [["x"], ["y"]]}, hide)
    assert rows(opened(path)) == ROWS[1:]
    assert rows(opened(path, sheet="Notes")) == [["y"]]


def test_notes_above_the_table_are_asked_about(tmp_path: Path, problem_of: ProblemOf) -> None:
    path = workbook(tmp_path / "a.xlsx", {"S": [["Quiz of 2024"], [], *ROWS]})
    problem = problem_of(opened(path).check)
    assert (problem.code, problem.where) == ("SOURCE-015", Origin(str(path), line=1, sheet="S"))
    assert "--header-row 3" in problem.fix
    assert rows(opened(path, header_row=3)) == ROWS[1:]


def test_a_sheet_without_a_header(tmp_path: Path, problem_of: ProblemOf) -> None:
    table = [["What is one plus one?", 1, 2, "B"], ["What is one plus two?", 3, 1, "A"]]
    path = workbook(tmp_path / "a.xlsx", {"S": table})
    problem = problem_of(opened(path).check)
    assert problem.code == "SOURCE-015"
    assert "--no-header --columns question,A,B,answer" in problem.fix
    source = opened(path, columns=("question", "A", "B", "answer"))
    assert rows(source) == table
    assert [record.origin.line for record in source.records()] == [1, 2]
    assert opened(path, has_header=False).columns == ("column_1", "column_2", "column_3", "column_4")


def test_columns_without_a_name_or_with_one_name(tmp_path: Path, problem_of: ProblemOf) -> None:
    late = [["question", "answer"], *[["q", "a"]] * 400, ["q", "a", "stray"]]
    problem = problem_of(opened(workbook(tmp_path / "a.xlsx", {"S": late})).check)
    assert (problem.code, "cell C1 is empty" in problem.what) == ("SOURCE-009", True)
    twice = [["question", "A", "A"], ["x", 1, 2]]
    problem = problem_of(opened(workbook(tmp_path / "b.xlsx", {"S": twice})).check)
    assert (problem.code, problem.where) == (
        "SOURCE-009",
        Origin(str(tmp_path / "b.xlsx"), line=1, sheet="S"),
    )


def test_cells_without_a_value_are_problems_of_their_rows(tmp_path: Path) -> None:
    table = [["question", "answer"], ["a", "#N/A"], ["b", 1], ["c", "=1+1"], ["d", "#DIV/0!"]]
    path = workbook(tmp_path / "a.xlsx", {"S": table})
    with pytest.raises(AuthorError) as caught:
        opened(path).check()
    found = [(str(one.where), one.what) for one in caught.value.problems]
    assert [place for place, _ in found] == [f"{path} sheet 'S' row {n}, column 'answer'" for n in (2, 4, 5)]
    assert "cell B2 shows the error #N/A" in found[0][1]
    assert "cell B4 has a formula whose value was never calculated" in found[1][1]
    assert "#DIV/0!" in found[2][1]
    assert {one.code for one in caught.value.problems} == {"SOURCE-018"}


def changed(path: Path, member: str, old: str, new: str) -> Path:
    """Rewrite a text inside a workbook."""
    made = io.BytesIO()
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(made, "w") as out:
        for entry in archive.infolist():
            data = archive.read(entry)
            if entry.filename == member:
                assert re.search(old, data.decode())
                data = re.sub(old, new, data.decode()).encode()
            out.writestr(entry, data)
    path.write_bytes(made.getvalue())
    return path


def test_stored_values_of_formulas_are_read_where_they_were_calculated(
    tmp_path: Path, problem_of: ProblemOf
) -> None:
    path = workbook(tmp_path / "a.xlsx", {"S": [["question", "answer"], ["a", "=1+1"]]})
    sheet = "xl/worksheets/sheet1.xml"
    changed(path, sheet, "<f>1\\+1</f><v ?/>|<f>1\\+1</f><v></v>", "<f>1+1</f><v>2</v>")
    # The library that wrote the file asks for a calculation: its values are no results.
    assert problem_of(opened(path).check).code == "SOURCE-018"
    changed(path, "xl/workbook.xml", 'fullCalcOnLoad="1"', "")
    assert rows(opened(path)) == [["a", 2]]
    changed(path, sheet, "<c r=.B2.[^>]*><f>1\\+1</f><v>2</v>", '<c r="B2" t="str"><f>""</f><v></v>')
    assert rows(opened(path)) == [["a", ""]]


def test_a_cell_merged_over_rows_has_its_value_in_each(tmp_path: Path) -> None:
    table = [["topic", "question"], ["Maths", "a"], [None, "b"], [None, "c"], ["Art", "d"]]

    def merge(book: Any) -> None:
        book["S"].merge_cells("A2:A4")

    source = opened(workbook(tmp_path / "a.xlsx", {"S": table}, merge))
    assert rows(source) == [["Maths", "a"], ["Maths", "b"], ["Maths", "c"], ["Art", "d"]]
    assert any("A2:A4" in note for note in source.notes)


def test_a_cell_merged_over_columns_is_a_problem(tmp_path: Path) -> None:
    def merge(book: Any) -> None:
        book["S"].merge_cells("A3:B3")

    table = [["question", "answer"], ["a", 1], ["Part two", None], ["b", 2]]
    path = workbook(tmp_path / "a.xlsx", {"S": table}, merge)
    with pytest.raises(AuthorError, match=r"SOURCE-018 .* row 3: cells A3:B3 are merged across columns"):
        opened(path).check()


def test_an_open_document(tmp_path: Path) -> None:
    truth = (
        '<table:table-cell office:value-type="boolean" office:boolean-value="true">'
        "<text:p>TRUE</text:p></table:table-cell>"
    )
    body = (
        row("question", "answer", "sure", None)
        + row(repeated=3)
        + row("two<text:s text:c='2'/>spaces", 3, truth)
        + row("half", 2.5, truth, None)
        + row(None, repeated=1048000)
    )
    path = open_document(tmp_path / "a.ods", {"Tabelle1": body, "Leer": row(None)})
    source = opened(path)
    assert source.columns == ("question", "answer", "sure")
    assert rows(source) == [["two  spaces", 3, True], ["half", 2.5, True]]
    assert [record.origin.line for record in source.records()] == [5, 6]


def test_faults_of_an_open_document(tmp_path: Path) -> None:
    error = (
        '<table:table-cell table:formula="of:=NA()" office:value-type="string" office:string-value=""'
        ' calcext:value-type="error"><text:p>#N/A</text:p></table:table-cell>'
    )
    merged = (
        '<table:table-cell table:number-rows-spanned="2" office:value-type="string">'
        "<text:p>m</text:p></table:table-cell>"
    )
    body = (
        row("question", "answer")
        + row("a", error)
        + row("b", '<table:table-cell table:formula="of:=1+1"/>')
        + row(merged, 1)
        + row("<table:covered-table-cell/>", 2)
    )
    path = open_document(tmp_path / "a.ods", {"S": body})
    with pytest.raises(AuthorError) as caught:
        opened(path).check()
    assert [one.what for one in caught.value.problems] == [
        "cell B2 shows the error #N/A",
        "cell B3 has a formula whose value was never calculated",
    ]
    good = open_document(tmp_path / "b.ods", {"S": row("q", "n") + row(merged, 1) + row(None, 2)})
    assert rows(opened(good)) == [["m", 1], ["m", 2]]


def test_a_file_written_by_pandas(tmp_path: Path) -> None:
    pd: Any = pytest.importorskip("pandas")
    pytest.importorskip("odf")
    frame = pd.DataFrame({"question": ["a", "b"], "answer": [1, 2], "score": [0.5, 1.0]})
    # Given a Path, pandas writes xlsx whatever the suffix.
    for path in (tmp_path / "a.xlsx", str(tmp_path / "a.ods"), tmp_path / "b.ods"):
        frame.to_excel(path, index=False)
        assert rows(opened(Path(path))) == [["a", 1, 0.5], ["b", 2, 1]]
        frame.to_excel(path)
        assert opened(Path(path)).columns == ("Unnamed: 0", "question", "answer", "score")


def test_cells_far_apart_do_not_fill_the_memory(tmp_path: Path, problem_of: ProblemOf) -> None:
    def far(book: Any) -> None:
        book["S"]["XFD1048576"] = "x"

    path = workbook(tmp_path / "a.xlsx", {"S": ROWS}, far)
    problem = problem_of(opened(path).check)
    assert (problem.code, "XFD1048576" in problem.fix) == ("SOURCE-013", True)
    many = (
        '<table:table-cell table:number-columns-repeated="16000" office:value-type="float" office:value="1"/>'
    )
    path = open_document(tmp_path / "a.ods", {"S": row("q") + row(many, repeated=1000000)})
    assert problem_of(opened(path).check).code == "SOURCE-013"


def test_a_workbook_that_unpacks_to_too_much(
    tmp_path: Path, problem_of: ProblemOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workbook(tmp_path / "a.xlsx", {"S": [["question", "answer"], ["x" * 30_000, 1]]})
    monkeypatch.setattr(workbook_cells, "MOST_UNPACKED", 20_000)
    assert problem_of(opened(path).check).code == "SOURCE-013"


def test_protected_and_foreign_files(tmp_path: Path, problem_of: ProblemOf) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    problem = problem_of(opened(path).check)
    assert (problem.code, "password" in problem.what) == ("SOURCE-011", True)
    for data in (b"question,answer\n1,2\n", b"PK\x03\x04 not a workbook"):
        path.write_bytes(data)
        assert problem_of(opened(path).check).code == "SOURCE-011"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "x")
    assert problem_of(opened(path).check).code == "SOURCE-011"
    old = tmp_path / "a.xls"
    old.write_bytes(b"x")
    assert "save the file as .xlsx" in problem_of(lambda: open_source(old)).fix


def test_no_rows(tmp_path: Path, problem_of: ProblemOf) -> None:
    tables: list[list[Any]] = [[], [["question", "answer"]]]
    for table in tables:
        path = workbook(tmp_path / "a.xlsx", {"S": table})
        assert problem_of(opened(path).check).code == "SOURCE-003"


def test_the_extra_is_named_where_it_is_missing(
    tmp_path: Path, problem_of: ProblemOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workbook(tmp_path / "a.xlsx", {"S": ROWS})
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    problem = problem_of(opened(path).check)
    assert (problem.code, problem.fix) == ("SOURCE-008", "pip install 'assay-eval[xlsx]'")


@pytest.mark.parametrize("suffix", [".xlsx", ".ods"])
def test_damage_is_read_or_reported(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    if suffix == ".xlsx":
        workbook(path, {"S": ROWS})
    else:
        open_document(path, {"S": row("question", "answer") + row("a", 1) * 3})
    good = path.read_bytes()
    for number in range(150):
        chance = make_random(1, suffix, str(number))
        data = bytearray(good)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data if number % 3 else data[: chance.randrange(len(data))] or b"x")
        with contextlib.suppress(AuthorError):
            source = opened(path)
            source.check()
            assert all(set(record.fields) <= set(source.columns) for record in source.records())
