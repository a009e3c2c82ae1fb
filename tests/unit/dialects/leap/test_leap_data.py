"""Rows load as documented: folders in the hub's layout, files with options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.core.compilation import Compilation
from assay.core.errors import AuthorError
from assay.dialects.leap.task import LeapTask
from assay.sources.dataset_folder import DatasetMissing
from fakes.leap_tasks import HEAD, compile_one, contexts

pytest.importorskip("datasets")

OWN_LOAD = HEAD.index("    def load("), HEAD.index("    def has_training_docs")
LIBRARY = HEAD[: OWN_LOAD[0]] + HEAD[OWN_LOAD[1] :]
"""The base of test classes without a way of its own to load rows."""
ASKS = """
    def construct_requests(self, doc, ctx):
        return rf.loglikelihood(ctx, " yes")
    def process_results(self, doc, results):
        return {"acc": 1.0}
"""


def task(message: Mapping[str, Any], more: str = "") -> str:
    lines = "".join(f"    {name} = {value!r}\n" for name, value in message.items())
    return f"{LIBRARY}\nclass Mine(Base):\n{lines}{ASKS}{more}"


def compiled(
    folder: Path, message: Mapping[str, Any], more: str = "", **settings: Any
) -> Compilation[LeapTask]:
    return compile_one(folder, task(message, more), data_root=folder / "data", **settings)


def lines(path: Path, *rows: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


ROW, OTHER = {"q": "하늘은 파란가?", "a": "네"}, {"q": "바다는 붉은가?", "a": "아니요"}
HUB = {"IN_HF_HUB": True, "DATASET_PATH": "bm_x", "DATASET_NAME": "sts"}


def test_a_folder_in_the_hubs_layout_with_metadata(tmp_path: Path) -> None:
    lines(tmp_path / "data/bm_x/here/odd_name.jsonl", ROW)
    lines(tmp_path / "data/bm_x/there/another.jsonl", OTHER)
    (tmp_path / "data/bm_x/README.md").write_text(
        "---\nconfigs:\n- config_name: sts\n  data_files:\n"
        "  - split: validation\n    path: here/odd_name.jsonl\n"
        "- config_name: nli\n  data_files:\n  - split: test\n    path: there/another.jsonl\n---\n",
        encoding="utf-8",
    )
    one = compiled(tmp_path, HUB)
    assert contexts(one) == [ROW["q"]]
    assert one.notes == ()
    assert contexts(compiled(tmp_path, {**HUB, "DATASET_NAME": "nli"})) == [OTHER["q"]]


@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv", "tsv", "parquet", "list.json"])
def test_a_config_of_a_folder_without_metadata_is_found_by_its_paths(tmp_path: Path, suffix: str) -> None:
    import pandas

    folder = tmp_path / "data" / "bm_x" / "sts"
    folder.mkdir(parents=True)
    lines(tmp_path / "data/bm_x/ynat/validation.json", {"title": "another config, other columns"})
    path, rows = folder / f"validation.{suffix.rpartition('.')[2]}", pandas.DataFrame([ROW, OTHER])
    if suffix == "parquet":
        rows.to_parquet(path)
    elif suffix in ("csv", "tsv"):
        rows.to_csv(path, sep="," if suffix == "csv" else "\t", index=False)
    elif suffix == "list.json":
        path.write_text(json.dumps([ROW, OTHER]), encoding="utf-8")
    else:
        lines(path, ROW, OTHER)
    one = compiled(tmp_path, HUB)
    assert contexts(one) == [ROW["q"], OTHER["q"]]
    assert one.notes == ("bm_x has no metadata, so the files of 'sts' were found by their paths",)
    assert "config_by_path" in {difference.name for difference in one.task.spec.differences}


@pytest.mark.parametrize("content", [None, '{"q": 1'])
def test_what_metadata_names_is_not_replaced_by_other_files(tmp_path: Path, content: str | None) -> None:
    """A missing or broken file must be reported: other files beside it have other rows."""
    lines(tmp_path / "data/bm_x/sts/validation.jsonl", OTHER)
    if content is not None:
        (tmp_path / "data/bm_x/named.jsonl").write_text(content, encoding="utf-8")
    (tmp_path / "data/bm_x/README.md").write_text(
        "---\nconfigs:\n- config_name: sts\n  data_files:\n"
        "  - split: validation\n    path: named.jsonl\n---\n",
        encoding="utf-8",
    )
    with pytest.raises(AuthorError, match=r"LEAP-007.*'sts' could not be loaded.*README.md"):
        compiled(tmp_path, HUB)


def test_the_usual_name_of_a_split_that_files_write_in_another_way(tmp_path: Path) -> None:
    lines(tmp_path / "data/bm_x/sts/dev.jsonl", ROW)
    assert contexts(compiled(tmp_path, HUB)) == [ROW["q"]]
    own = '    def validation_docs(self):\n        return self.dataset["dev"]\n'
    assert contexts(compiled(tmp_path, HUB, own)) == [ROW["q"]]


def test_the_folder_is_found_through_hub_json(tmp_path: Path) -> None:
    lines(tmp_path / "data/real_x/sts/validation.jsonl", ROW)
    (tmp_path / "data/hub.json").write_text('{"bm_x": "real_x"}', encoding="utf-8")
    assert contexts(compiled(tmp_path, HUB)) == [ROW["q"]]


def test_without_a_data_root_data_is_beside_the_file(tmp_path: Path) -> None:
    lines(tmp_path / "bm_x/sts/validation.jsonl", ROW)
    assert contexts(compile_one(tmp_path, task(HUB))) == [ROW["q"]]


FILES = {
    "DATASET_PATH": "bm_kor",
    "DATASET_NAME": "KorSTS",
    "DATA_FILES": {"train": "sts-train.tsv", "validation": "sts-dev.tsv", "test": "sts-test.tsv"},
    "DATASET_TYPE": "csv",
    "DOWNLOAD_OPTIONS": {"delimiter": "\t", "quoting": 3},
}
NO_TEST = "    def has_test_docs(self):\n        return False\n"


def tab_files(folder: Path, *splits: str) -> None:
    place = folder / "data" / "bm_kor" / "KorSTS"
    place.mkdir(parents=True, exist_ok=True)
    for split in splits:
        text = 'q\ta\tscore\n"열린 따옴표\t네\t4.500\nNA\t아니요\t1.000\n'
        (place / f"sts-{split}.tsv").write_text(text, encoding="utf-8")


def test_files_with_options_as_the_document_has_them(tmp_path: Path) -> None:
    tab_files(tmp_path, "train", "dev", "test")
    one = compiled(
        tmp_path, FILES, "    def doc_to_text(self, doc):\n        return f\"{doc['q']} {doc['score']}\"\n"
    )
    # No quotes are read, numbers are numbers, and NA is nothing.
    assert contexts(one) == ['"열린 따옴표 4.5', "None 1.0"]
    assert one.task.spec.settings["split"] == "test"


def test_a_file_that_nobody_reads_may_be_absent(tmp_path: Path) -> None:
    tab_files(tmp_path, "dev")
    text = '    def doc_to_text(self, doc):\n        return str(doc["q"])\n' + NO_TEST
    one = compiled(tmp_path, FILES, text)
    assert len(contexts(one)) == 2
    assert "sts-train.tsv" in one.notes[0]
    assert "sts-test.tsv" in one.notes[0]
    assert "absent_files" in {difference.name for difference in one.task.spec.differences}
    with pytest.raises(DatasetMissing, match=r"LEAP-005.*training_docs.*sts-train.tsv.*--shots 0") as caught:
        compiled(tmp_path, FILES, text + "    def has_training_docs(self):\n        return True\n", shots=1)
    assert "'train'" in str(caught.value)
    with pytest.raises(DatasetMissing, match=r"LEAP-005.*'test'.*sts-test.tsv"):
        compiled(
            tmp_path, FILES, text.replace(NO_TEST, "    def has_test_docs(self):\n        return True\n")
        )


def test_options_that_nobody_wrote_are_none(tmp_path: Path) -> None:
    lines(tmp_path / "data/bm_q/dev.json", ROW)
    message = {
        "DATASET_PATH": "bm_q",
        "DATASET_NAME": "",
        "DATA_FILES": {"validation": "dev.json"},
        "DATASET_TYPE": "json",
    }
    one = compiled(tmp_path, message)
    assert contexts(one) == [ROW["q"]]
    assert "download_options" in {difference.name for difference in one.task.spec.differences}
    several = {**message, "DATASET_TYPE": None, "DATA_FILES": {"validation": ["dev.json", "more.json"]}}
    lines(tmp_path / "data/bm_q/more.json", OTHER)
    assert contexts(compiled(tmp_path, several)) == [ROW["q"], OTHER["q"]]


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with pytest.raises(DatasetMissing, match=r"LEAP-007.*DATASET_PATH 'bm_x' is not a folder"):
        compiled(tmp_path, HUB)
    lines(tmp_path / "data/bm_x/sts/validation.jsonl", ROW)
    with pytest.raises(DatasetMissing, match=r"LEAP-007.*DATASET_NAME 'nli'.*'sts'"):
        compiled(tmp_path, {**HUB, "DATASET_NAME": "nli"})


def test_splits_with_different_columns_say_which(tmp_path: Path) -> None:
    lines(tmp_path / "data" / "mine" / "set" / "train.jsonl", {"q": "1", "a": "x"})
    lines(tmp_path / "data" / "mine" / "set" / "validation.jsonl", {"q": "1", "answer": "x"})
    files = {"train": "train.jsonl", "validation": "validation.jsonl"}
    message = {"DATASET_PATH": "mine", "DATASET_NAME": "set", "DATA_FILES": files}
    with pytest.raises(AuthorError, match=r"LEAP-007.*1 new columns \(\{'answer'\}\)"):
        compiled(tmp_path, message)


def test_an_authors_own_loading_from_the_hub_says_how_to_fix_its_errors(tmp_path: Path) -> None:
    own = (
        "    def load(self, data_dir=None, cache_dir=None):\n"
        "        import datasets\n"
        '        self.dataset = datasets.load_dataset("org/nowhere_at_all", "x")\n'
    )
    with pytest.raises(AuthorError, match=r"HUB-008 hf://org/nowhere_at_all: .* cannot be reached"):
        compiled(tmp_path, {}, own)


def test_an_authors_own_init_works(tmp_path: Path) -> None:
    own = f"    def __init__(self):\n        self.dataset = {{'validation': [{ROW!r}]}}\n"
    assert contexts(compiled(tmp_path, {}, own)) == [ROW["q"]]
    handed = (
        "    def __init__(self, data_dir=None, cache_dir=None):\n"
        "        super().__init__(data_dir, cache_dir)\n"
        "    def load(self, data_dir=None, cache_dir=None):\n"
        f"        self.dataset = {{'validation': [dict({ROW!r}, q=data_dir[-4:])]}}\n"
    )
    assert contexts(compiled(tmp_path, {}, handed)) == ["data"]


@pytest.mark.parametrize(
    ("kind", "near"),
    [
        ("cvs", "did you mean 'csv'"),
        ("CSV", "did you mean 'csv'"),
        ("jsonl", "did you mean 'json'"),
        ("spreadsheet", ""),
    ],
)
def test_a_dataset_type_that_the_library_does_not_have_is_named_and_not_looked_for(
    tmp_path: Path, kind: str, near: str
) -> None:
    (tmp_path / "data/bm_x").mkdir(parents=True)
    (tmp_path / "data/bm_x/dev.csv").write_text("q,a\n1?,1\n", encoding="utf-8")
    message = {"DATASET_PATH": "bm_x", "DATASET_TYPE": kind, "DATA_FILES": {"validation": "dev.csv"}}
    with pytest.raises(AuthorError) as caught:
        compiled(tmp_path, message)
    text = str(caught.value)
    assert f"DATASET_TYPE is {kind!r}" in text
    assert near in text
    assert "'csv'" in text, "the formats there are"
    assert "onnect" not in text, "no word of the hub"


@pytest.mark.parametrize("options", [None, {"delimiter": ","}, {"sep": ";"}])
def test_a_wrong_delimiter_is_named_without_the_librarys_own_output(
    tmp_path: Path, options: dict[str, str] | None, capfd: pytest.CaptureFixture[str]
) -> None:
    sign = (options or {}).get("sep", ",")
    (tmp_path / "data/bm_x").mkdir(parents=True)
    # A line with more signs than the header: the library cannot split it.
    content = f"q\ta\n1?\t1\n2{sign} 3{sign} 4?\t2\n"
    (tmp_path / "data/bm_x/dev.csv").write_text(content, encoding="utf-8")
    message = {
        **{"DATASET_PATH": "bm_x", "DATASET_TYPE": "csv", "DOWNLOAD_OPTIONS": options},
        "DATA_FILES": {"validation": "dev.csv"},
    }
    with pytest.raises(AuthorError) as caught:
        compiled(tmp_path, message)
    text = str(caught.value)
    assert "dev.csv" in text
    assert f"check the separator {sign!r}, or set DOWNLOAD_OPTIONS = {{'delimiter': ...}}" in text
    assert "line 3" in text, "where the file does not fit"
    assert capfd.readouterr() == ("", ""), "nothing of the library's own"


@pytest.mark.parametrize(("options", "sign"), [(None, "\t"), ({"delimiter": "\t"}, ","), ({"sep": "|"}, ";")])
def test_a_delimiter_that_leaves_one_column_is_reported_with_the_right_one(
    tmp_path: Path, options: dict[str, str] | None, sign: str
) -> None:
    (tmp_path / "data/bm_x").mkdir(parents=True)
    (tmp_path / "data/bm_x/dev.csv").write_text(f"q{sign}a\n1?{sign}1\n", encoding="utf-8")
    message = {
        **{"DATASET_PATH": "bm_x", "DATASET_TYPE": "csv", "DOWNLOAD_OPTIONS": options},
        "DATA_FILES": {"validation": "dev.csv"},
    }
    with pytest.raises(AuthorError) as caught:
        compiled(tmp_path, message)
    text = str(caught.value)
    assert f"were read as one column {f'q{sign}a'!r}" in text
    assert f"set DOWNLOAD_OPTIONS = {{'delimiter': {sign!r}}}" in text


def test_a_misspelt_download_option_is_named(tmp_path: Path) -> None:
    (tmp_path / "data/bm_x").mkdir(parents=True)
    (tmp_path / "data/bm_x/dev.csv").write_text("q,a\n1?,1\n", encoding="utf-8")
    message = {
        **{"DATASET_PATH": "bm_x", "DATASET_TYPE": "csv", "DOWNLOAD_OPTIONS": {"delimeter": ";"}},
        "DATA_FILES": {"validation": "dev.csv"},
    }
    with pytest.raises(AuthorError) as caught:
        compiled(tmp_path, message)
    assert "the key 'delimeter' of DOWNLOAD_OPTIONS (did you mean 'delimiter'?)" in str(caught.value)
