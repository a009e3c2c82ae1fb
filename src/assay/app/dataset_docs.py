"""The READMEs of config datasets: find disagreements with the configs, and correct the pages.

The task table of a README has a row for each config. Files that only import another config need none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.app.dialects import DIALECT_REGISTRY, TABLE, detect_dialect
from assay.app.readme_tables import COLUMNS, Column, ReadmeEdit, ReadmePage, Row, TaskTable
from assay.core.errors import AssayError, Problem, UsageError
from assay.core.method import Method
from assay.core.origin import Origin
from assay.dialects.openicl.detect import ConfigName, find_config_files, is_config
from assay.dialects.openicl.readme_description import ConfigDescriber, ConfigDescription
from assay.scoring.originals.opencompass.evaluators.readings import READINGS, make_reading
from assay.scoring.originals.opencompass.evaluators.value_names import VALUE_NAMES

_JUDGE, _USUAL_READING = "GenericLLMEvaluator", "generic_llmjudge_postprocess"
_READING = "dict_postprocessor"
_OF_DATASETS = "datasets"


def find_value_names(name: str, module: str, arguments: Mapping[str, Any]) -> Sequence[str] | None:
    """Return the names of an evaluator's values, without counts; None if the name is unknown."""
    if name == _JUDGE:
        kind = (arguments.get(_READING) or {}).get("type", _USUAL_READING)
        name = getattr(kind, "name", kind)
    if name in READINGS:
        return [value.name for value in make_reading(name).values if value.of is not None]
    of_datasets = f"{_OF_DATASETS}.{name}"
    if of_datasets in VALUE_NAMES and _OF_DATASETS in module.split("."):
        name = of_datasets
    return VALUE_NAMES.get(name)


_PAGES = "README*.md"
_NEW_PAGE = "README.md"
_COMPARED: dict[Column, str] = {
    "task": "task name",
    "introduction": "introduction",
    "metrics": "metrics",
    "shots": "few-shot",
    "format": "prompt format",
}
"""The compared columns, as they are called in sentences."""


class Disagreement(NamedTuple):
    """A difference between a page and a config."""

    page: Path
    config: str
    """The config's file, relative to the page."""
    text: str
    """What is wrong, with the values of both."""
    place: tuple[TaskTable, Row] | None = None
    """The wrong row; None: the row is missing."""
    column: Column | None = None
    """The wrong cell; None: the whole row is wrong."""
    right: str = ""
    """What the cell should say."""


class DocumentedPage(NamedTuple):
    """A page, its disagreements, and its corrected text."""

    path: Path
    is_new: bool
    """Whether the file does not exist yet."""
    disagreements: tuple[Disagreement, ...]
    text: str
    """The whole corrected page."""


class DocumentedFolder(NamedTuple):
    """A dataset: the folder of its README, and its configs there or in subfolders."""

    path: Path
    configs: tuple[Path, ...]


class Documentation:
    """The pages of datasets. Errors of configs that do not load are collected and do not affect others."""

    def __init__(self, root: Path | None) -> None:
        """`root`: a checkout with the evaluators that configs name; None: the one above each config."""
        self._describer = ConfigDescriber(root, find_value_names)
        self._known: dict[Path, ConfigDescription | None] = {}
        self.errors: list[AssayError] = []

    def pages(self, folder: DocumentedFolder) -> Iterator[DocumentedPage]:
        """Yield the pages of a dataset; a new one if there is none."""
        described = self._describe_all(folder)
        # Next to the README there may be others, in other languages or about other things.
        others = [
            path for path in _pages(folder.path) if path.name != _NEW_PAGE and ReadmePage(_read(path)).tables
        ]
        for path in (folder.path / _NEW_PAGE, *others):
            is_new = not path.exists()
            if is_new and (others or all(one.hands_on is not None for one in described)):
                continue
            page = ReadmePage(f"# {_name(folder)}\n" if is_new else _read(path))
            differences = tuple(_disagreements(path, page, folder, described))
            text = _correct_page(page, folder, differences, described)
            yield DocumentedPage(path, is_new, differences, text)

    def disagreements(self, folder: DocumentedFolder) -> Iterator[Disagreement]:
        """Yield the disagreements between the task tables of a dataset's pages and its configs."""
        described = self._describe_all(folder)
        for path in _pages(folder.path):
            page = ReadmePage(_read(path))
            if page.tables:
                yield from _disagreements(path, page, folder, described)

    def describe_config(self, config: Path) -> ConfigDescription | None:
        """Return what a config says about its task; None if it does not load."""
        if config not in self._known:
            try:
                self._known[config] = self._describer.describe(config)
            except AssayError as error:
                self.errors.append(error)
                self._known[config] = None
        return self._known[config]

    def _describe_all(self, folder: DocumentedFolder) -> list[ConfigDescription]:
        return [one for one in map(self.describe_config, folder.configs) if one is not None]


def find_documented_folders(name: str) -> list[DocumentedFolder]:
    """Return the datasets of a name: their folder, a folder above, or one of the configs."""
    path = ConfigName.of(name).path
    if is_config(name):
        home = _find_readme_folder(path)
        return group_by_folder(
            config for config in find_config_files(home) if _find_readme_folder(config) == home
        )
    configs = find_config_files(path)
    if not configs:
        what = f"{_describe_named_path(name, path)}; only READMEs of config datasets have task tables"
        fix = "name a folder of configs or a config of AISBench or OpenCompass"
        raise UsageError(Problem("USAGE-010", what, fix, Origin(name)))
    return group_by_folder(configs)


def _describe_named_path(name: str, path: Path) -> str:
    """Return what was named instead of a config dataset."""
    if (dialect := detect_dialect(name, None, {})) != TABLE:
        return f"this is {DIALECT_REGISTRY[dialect].noun}"
    if not path.exists():
        return "the file or folder does not exist"
    return "there is no config in this folder" if path.is_dir() else "this is not a config"


def group_by_folder(configs: Iterable[Path]) -> list[DocumentedFolder]:
    """Return the datasets that configs belong to."""
    folders: dict[Path, list[Path]] = {}
    for config in configs:
        folders.setdefault(_find_readme_folder(config), []).append(config)
    return [DocumentedFolder(folder, tuple(members)) for folder, members in folders.items()]


def _find_readme_folder(config: Path) -> Path:
    """Return the folder of a config's README: its own, or the one above if that has a task table."""
    own, above = config.parent, config.parent.parent
    if not _pages(own) and any(ReadmePage(_read(path)).tables for path in _pages(above)):
        return above
    return own


def _disagreements(
    path: Path, page: ReadmePage, folder: DocumentedFolder, described: Sequence[ConfigDescription]
) -> Iterator[Disagreement]:
    rows: dict[str, list[tuple[TaskTable, Row]]] = {}
    for table in page.tables:
        for row in table.rows:
            there = [name for name in row.configs if (folder.path / name).is_file()]
            if there:
                rows.setdefault(there[0], []).append((table, row))
            else:
                name = row.configs[0]
                what = f"{path.name} has a row for {name}, but this file does not exist"
                yield Disagreement(path, name, what, (table, row))
    names = {one.path.relative_to(folder.path).as_posix(): one for one in described}
    # A row for a file that only imports a config also covers that config.
    listed = {base for name in rows if name in names for base in names[name].hands_on or ()}
    for name, one in names.items():
        if name not in rows and one.hands_on is None and one.path not in listed:
            yield Disagreement(path, name, f"{path.name} has no row for {name}")
        for table, row in rows.get(name, ()):
            right = build_row_cells(one, _name(folder), name, is_chinese=table.is_chinese)
            for column, called in _COMPARED.items():
                text = row.cells.get(column)
                if text is None or is_cell_correct(column, text, one):
                    continue
                if column == "task" and _is_another_name(text, one, names):
                    continue
                what = f"{path.name} has {called} {text!r} for {name}, but the config has {right[column]!r}"
                yield Disagreement(path, name, what, (table, row), column, right[column])


def _is_another_name(task: str, one: ConfigDescription, names: Mapping[str, ConfigDescription]) -> bool:
    """Return whether a task's name is that of a file that only imports the config."""
    place = one.path.with_name(f"{task}.py")
    return any(other.path == place and one.path in (other.hands_on or ()) for other in names.values())


def _correct_page(
    page: ReadmePage,
    folder: DocumentedFolder,
    differences: Sequence[Disagreement],
    described: Sequence[ConfigDescription],
) -> str:
    edit = ReadmeEdit(page)
    lacking = {one.config for one in differences if one.place is None}
    for one in differences:
        if one.place is not None and one.column is None:
            edit.remove(one.place[1])
        elif one.place is not None and one.column is not None:
            edit.put(*one.place, one.column, one.right)
    table = page.tables[-1] if page.tables else None
    is_chinese = page.is_chinese if table is None else table.is_chinese
    names = {one.path.relative_to(folder.path).as_posix(): one for one in described}
    added = [
        build_row_cells(one, _name(folder), name, is_chinese=is_chinese)
        for name, one in names.items()
        if name in lacking
    ]
    if table is not None:
        for cells in added:
            edit.add(table, cells)
    elif added:
        rows = [[cells[column] for column in COLUMNS] for cells in added]
        edit.add_table(TITLES[is_chinese], HEADINGS[is_chinese], rows)
    return edit.text()


def _pages(folder: Path) -> list[Path]:
    return sorted(folder.glob(_PAGES))


def _name(folder: DocumentedFolder) -> str:
    return folder.path.absolute().name


def _read(path: Path) -> str:
    # Bytes that are not UTF-8 are preserved.
    return path.read_bytes().decode("utf-8", errors="surrogateescape")


def write_readme(page: DocumentedPage) -> None:
    """Write a corrected page; unchanged bytes stay the same."""
    page.path.write_bytes(page.text.encode("utf-8", errors="surrogateescape"))


TITLES = {False: "Available Dataset Tasks", True: "可用数据集任务"}
"""Title above a new table, by whether the page is Chinese."""
HEADINGS: Mapping[bool, Sequence[str]] = {
    False: (
        "Task Name",
        "Introduction",
        "Evaluation Metrics",
        "few-shot",
        "Prompt Format",
        "Corresponding Source Configuration File Path",
    ),
    True: ("任务名称", "简介", "评估指标", "few-shot", "prompt格式", "对应源码配置文件路径"),
}
_NOTHING = "-"
_FORMATS: Mapping[str, tuple[str, str]] = {
    "string format": ("String format", "字符串格式"),
    "dialogue format": ("Dialogue format", "对话格式"),
    "messages": ("Messages", "消息列表格式"),
    "multi-turn": ("Multi-turn dialogue format", "多轮对话格式"),
    "multimodal": ("Multimodal format", "多模态格式"),
}
_FORMAT_WORDS: Mapping[str, tuple[str, ...]] = {
    "multimodal": ("multimodal", "multi-modal", "image", "video", "audio", "多模态", "图", "视频", "音频"),
    "multi-turn": ("multi-turn", "multiturn", "多轮"),
    "messages": ("message", "消息"),
    "dialogue format": ("chat", "dialog", "conversation", "对话", "聊天"),
    "string format": ("string", "text", "字符串", "文本"),
}
"""Words that identify a format, more specific formats first."""
_TURNS = ("dialogue format", "messages", "multi-turn")
"""Formats that a person may call a chat."""
_SAY_NOTHING = ("score", "average_score", "overall")
"""Value names for which a page may use a better one."""
_OF_SPEED = ("performance", "性能")
"""Metrics of tasks that measure the speed of a server, not correctness."""
_TASKS: Mapping[str, tuple[str, str]] = {
    Method.GEN: ("{} dataset generative task", "{}数据集生成式任务"),
    Method.PPL: ("{} dataset PPL task", "{}数据集PPL任务"),
    Method.PROB: ("{} dataset label probability task", "{}数据集选项概率任务"),
}
_NAMED_SHOTS = re.compile(r"(\d+)_?shot")
_ZERO = re.compile(r"\bzero\b|零", re.IGNORECASE)


def build_row_cells(one: ConfigDescription, name: str, path: str, *, is_chinese: bool) -> dict[Column, str]:
    """Return the cells of a config's row; `name` is the dataset's."""
    method = one.methods[0] if one.methods else Method.GEN
    return {
        "task": one.path.stem,
        "introduction": _TASKS[method][is_chinese].format(name),
        "metrics": ", ".join(one.metrics or one.evaluators) or _NOTHING,
        "shots": ", ".join(f"{n}-shot" for n in one.shots) or _NOTHING,
        "format": ", ".join(_FORMATS[format][is_chinese] for format in one.formats) or _NOTHING,
        "path": f"[{one.path.name}]({path})",
    }


def is_cell_correct(column: Column, text: str, one: ConfigDescription) -> bool:
    """Return whether a cell agrees with a config, in whatever words; unknown facts count as agreement."""
    if column == "task":
        return text.strip("` ") == one.path.stem
    if column == "metrics":
        return _has_right_metrics(text, one)
    if column == "shots":
        return _has_right_shots(text, one)
    if column == "format":
        return _has_right_formats(text, one)
    # An introduction must only exist; a path has already led to the config.
    return bool(text)


def _has_right_shots(text: str, one: ConfigDescription) -> bool:
    numbers = {int(number) for number in re.findall(r"\d+", _ZERO.sub("0", text))}
    named = _NAMED_SHOTS.search(one.path.stem)
    if set(one.shots) == {0} and named is not None and numbers == {int(named[1])}:
        # Rows may contain their own examples, which the config does not show; trust the file name.
        return True
    return bool(text) if not one.shots else numbers == set(one.shots)


def _has_right_metrics(text: str, one: ConfigDescription) -> bool:
    words = _metric_words(text)
    if all(name in _SAY_NOTHING for name in one.metrics) or any(word in words for word in _OF_SPEED):
        # Names that are only known at run time, or say little: trust the page.
        return bool(text)
    names = [_metric_words(name) for name in (*one.metrics, *one.evaluators)]
    parts = [part for part in re.split(r"[,、，;/()（）]| and ", words) if part.strip()]
    return any(name in words or any(part.strip() in name for part in parts) for name in names)


def _metric_words(text: str) -> str:
    # With one answer per question, pass@1 is the accuracy.
    words = re.sub(r"准确率|精度|正确率|\bacc\b|pass@1", "accuracy", text.casefold().replace("`", ""))
    return words.replace("-", "_")


def _has_right_formats(text: str, one: ConfigDescription) -> bool:
    words = text.casefold()
    format_ = next(
        (known for known, marks in _FORMAT_WORDS.items() if any(mark in words for mark in marks)), None
    )
    if format_ is None or not one.formats:
        return bool(text)
    return any(
        format_ == known or (format_ == "dialogue format" and known in _TURNS) for known in one.formats
    )
