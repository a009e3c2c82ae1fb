"""What a table of tasks says in words, in English and Chinese, and whether words agree with a config."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assay.app.readme_tables import Column
from assay.dialects.openicl.readme_description import ConfigDescription

TITLES = {False: "Available Dataset Tasks", True: "可用数据集任务"}
"""Above a table that is written anew, by whether the page is Chinese."""
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
"""Words by which a format is known, the more special first."""
_TURNS = ("dialogue format", "messages", "multi-turn")
"""Formats that a person may call a chat, all three."""
_SAY_NOTHING = ("score", "average_score", "overall")
"""Names of values that a page may well call by a better one."""
_OF_SPEED = ("performance", "性能")
"""Metrics of tasks that measure how fast a server is, and not how right."""
_TASKS: Mapping[str, tuple[str, str]] = {
    "gen": ("{} dataset generative task", "{}数据集生成式任务"),
    "ppl": ("{} dataset PPL task", "{}数据集PPL任务"),
    "prob": ("{} dataset label probability task", "{}数据集选项概率任务"),
}
_NAMED_SHOTS = re.compile(r"(\d+)_?shot")
_ZERO = re.compile(r"\bzero\b|零", re.IGNORECASE)


def build_row_cells(one: ConfigDescription, name: str, path: str, *, is_chinese: bool) -> dict[Column, str]:
    """Return the cells of a config's row; `name` is the dataset's."""
    method = one.methods[0] if one.methods else "gen"
    return {
        "task": one.path.stem,
        "introduction": _TASKS[method][is_chinese].format(name),
        "metrics": ", ".join(one.metrics or one.evaluators) or _NOTHING,
        "shots": ", ".join(f"{n}-shot" for n in one.shots) or _NOTHING,
        "format": ", ".join(_FORMATS[format][is_chinese] for format in one.formats) or _NOTHING,
        "path": f"[{one.path.name}]({path})",
    }


def is_cell_correct(column: Column, said: str, one: ConfigDescription) -> bool:
    """Whether a cell says what a config does, in whatever words; what cannot be known agrees."""
    if column == "task":
        return said.strip("` ") == one.path.stem
    if column == "metrics":
        return _has_right_metrics(said, one)
    if column == "shots":
        return _has_right_shots(said, one)
    if column == "format":
        return _has_right_formats(said, one)
    # Of an introduction only that there is one; a path led to the config.
    return bool(said)


def _has_right_shots(said: str, one: ConfigDescription) -> bool:
    numbers = {int(number) for number in re.findall(r"\d+", _ZERO.sub("0", said))}
    named = _NAMED_SHOTS.search(one.path.stem)
    if set(one.shots) == {0} and named is not None and numbers == {int(named[1])}:
        # Rows may bring their examples along, which the config does not show; who named it knows.
        return True
    return bool(said) if not one.shots else numbers == set(one.shots)


def _has_right_metrics(said: str, one: ConfigDescription) -> bool:
    words = _metric_words(said)
    if all(name in _SAY_NOTHING for name in one.metrics) or any(word in words for word in _OF_SPEED):
        # Names that are made when it runs, or say little, are known to whoever wrote the page.
        return bool(said)
    names = [_metric_words(name) for name in (*one.metrics, *one.evaluators)]
    parts = [part for part in re.split(r"[,、，;/()（）]| and ", words) if part.strip()]
    return any(name in words or any(part.strip() in name for part in parts) for name in names)


def _metric_words(text: str) -> str:
    # Of one answer to each question pass@1 is the accuracy.
    words = re.sub(r"准确率|精度|正确率|\bacc\b|pass@1", "accuracy", text.casefold().replace("`", ""))
    return words.replace("-", "_")


def _has_right_formats(said: str, one: ConfigDescription) -> bool:
    words = said.casefold()
    found = next(
        (known for known, marks in _FORMAT_WORDS.items() if any(one in words for one in marks)), None
    )
    if found is None or not one.formats:
        return bool(said)
    return any(found == known or (found == "dialogue format" and known in _TURNS) for known in one.formats)
