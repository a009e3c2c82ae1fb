"""Tables of tasks in a page: found by their headings, and changed without touching anything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.app.readme_tables import Column, ReadmeEdit, ReadmePage

ENGLISH = """# Quiz
| Task Name | Introduction | Evaluation Metric | Few-Shot | Prompt Format | Config File |
| --------- | :----------: | --- | --- | --- | --- |
| a_gen     | my own words | Accuracy | 0-shot   | Chat format | [a_gen.py](a_gen.py) |
| b_gen     |              | `acc`    | 5-shot   | String | [b_gen.py](./sub/b_gen.py) |

The end."""
CHINESE = """|任务名称|简介|评估指标|few-shot|prompt格式|对应源码配置文件路径|
|---|---|---|---|---|---|
|a_gen|数据集生成式任务|accuracy|0-shot|字符串格式|[a_gen.py](a_gen.py)|"""


def test_a_table_is_found_by_its_headings_in_either_language() -> None:
    (english,) = ReadmePage(ENGLISH).tables
    assert english.columns == ("task", "introduction", "metrics", "shots", "format", "path")
    assert [row.cells["shots"] for row in english.rows] == ["0-shot", "5-shot"]
    assert [row.configs for row in english.rows] == [
        ("a_gen.py", "a_gen.py", "a_gen.py"),
        ("sub/b_gen.py", "b_gen.py", "b_gen.py"),
    ]
    (chinese,) = ReadmePage(CHINESE).tables
    assert (english.is_chinese, english.is_spaced) == (False, True)
    assert (chinese.is_chinese, chinese.is_spaced) == (True, False)


@pytest.mark.parametrize(
    "text",
    [
        "no table",
        "| file | holds |\n| --- | --- |\n| a.py | code |\n",
        "| Task Name | Run Command |\n| --- | --- |\n| a | b |\n",
        "```\n" + ENGLISH + "\n```\n",
        "| Task Name | Path |\nno rule below\n",
        "| Task Name | Path |",
        "",
    ],
)
def test_other_tables_are_none_of_tasks(text: str) -> None:
    assert ReadmePage(text).tables == ()


def test_a_table_behind_a_block_of_code_is_found() -> None:
    (table,) = ReadmePage(f"```bash\nls\n```\n{ENGLISH}").tables
    assert len(table.rows) == 2


def test_a_cell_is_changed_and_nothing_beside_it() -> None:
    page = ReadmePage(ENGLISH)
    (table,) = page.tables
    edit = ReadmeEdit(page)
    edit.put(table, table.rows[0], "shots", "25-shot")
    edit.put(table, table.rows[0], "format", "String format")
    edit.put(table, table.rows[1], "introduction", "a | b")
    expected = ENGLISH.replace("| 0-shot   | Chat format |", "| 25-shot  | String format |")
    assert edit.text() == expected.replace("|              |", "| a \\| b |")


def test_rows_are_taken_away_and_added_in_the_tables_own_manner() -> None:
    page = ReadmePage(CHINESE)
    (table,) = page.tables
    edit = ReadmeEdit(page)
    edit.remove(table.rows[0])
    cells: dict[Column, str] = {
        "task": "b",
        "introduction": "i",
        "metrics": "m",
        "shots": "s",
        "format": "f",
        "path": "p",
    }
    edit.add(table, cells)
    assert edit.text().splitlines()[2:] == ["|b|i|m|s|f|p|"]


def test_a_row_without_bars_at_its_ends_is_changed_too() -> None:
    text = "Task Name | few-shot | Path\n--- | --- | ---\na | 0-shot | a.py\n"
    page = ReadmePage(text)
    (table,) = page.tables
    edit = ReadmeEdit(page)
    for column, new in (("task", "b"), ("shots", "1-shot"), ("path", "b.py")):
        edit.put(table, table.rows[0], column, new)  # type: ignore[arg-type]
    assert edit.text() == text.replace("a | 0-shot | a.py", "b | 1-shot | b.py")


def test_line_ends_are_the_pages() -> None:
    page = ReadmePage(ENGLISH.replace("\n", "\r\n"))
    edit = ReadmeEdit(page)
    edit.add_table("More", ["a"], [["b"]])
    assert "\n" not in edit.text().replace("\r\n", "")
    assert edit.text().endswith("The end.\r\n\r\n## More\r\n\r\n| a |\r\n| --- |\r\n| b |\r\n")


@given(st.text(alphabet="ab|-\n\r `#任务名称\\ \x85\u2028", max_size=60))
def test_a_page_without_changes_is_itself(text: str) -> None:
    assert ReadmeEdit(ReadmePage(text)).text() == text
    assert ReadmeEdit(ReadmePage(f"{text}\n{ENGLISH}")).text() == f"{text}\n{ENGLISH}"
