"""The texts of task tables, in English and Chinese, and whether they agree with a config."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assay.app.readme_tables import Column
from assay.core.method import Method
from assay.dialects.openicl.readme_description import ConfigDescription

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
