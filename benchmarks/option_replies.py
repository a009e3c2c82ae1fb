"""Replies to multiple-choice questions, to compare readers of options with: generated, fuzzed and recorded.

The templates of `HELD_OUT` were written after the rules of the faithful reader, and no rule was changed for
them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

LABEL_SETS = ("AB", "ABC", "ABCD", "ABCDE", "ABCDEFGHIJ")


class Reply(NamedTuple):
    """A reply, and the question's options."""

    text: str
    choices: Mapping[str, str]

    @property
    def labels(self) -> str:
        """The letters of the options."""
        return "".join(self.choices)


_CHOICES = (
    *("2632", "2635", "26", "0.5", "12 cm", "1 and 2", "$x^2+1$", "\\frac{1}{2}", "-7", "1,200"),
    *("Paris", "London", "the Dead Sea", "a dog", "Apple", "Both of them", "None of the above", "All", "Yes"),
    *("gravity", "Carbon dioxide", "It melts.", "photosynthesis in plants", "DNA", "Because it is cold", "B"),
    *("北京", "上海", "以上都对", "光合作用", "《红楼梦》", "因为天气冷", "３", "不正确"),
    *("is ripping level tiles off.", "starts pulling up roofing on a roof.", "then he falls", "", "e"),
)
_ENGLISH = (
    "{x}",
    " {x}\n",
    "({x})",
    "{x}.",
    "{x})",
    "{x}: {t}",
    "{x}. {t}",
    "**{x}**",
    "**{x}. {t}**",
    "\\boxed{{x}}",
    "$\\boxed{{x}}$",
    "\\boxed{\\text{{x}}}",
    "The correct answer is $\\boxed{{x}}$.",
    "The correct option is:\n\\boxed{{x}}",
    "Therefore, the correct answer option is \\boxed{{x}}",
    "The answer is {x}",
    "The answer is {x}.",
    "The answer is: {x}. {t}",
    "The answer is ({x}) {t}.",
    "The answer is **{x}**, because {u} is wrong.",
    "the answer is option {x}",
    "The correct answer is {x}, not {y}.",
    "The correct answer is option ({x}).",
    "The answer should be {x}.",
    "The answer to the question is {x}",
    "Answer: {x}",
    "ANSWER : {x}\nExplanation: {t}",
    "answer: {l}",
    "Answer:\n{x}",
    "**Answer:** {x}",
    "Final answer: **{x}**",
    "I would go with {x}",
    "I choose {x}.",
    "I think it is {x}, but it may be {y}",
    "It must be {t}.",
    "{t}",
    "{t} is right, not {u}.",
    "{x} is correct.",
    "Option {x} is right, not {y}.",
    "Both {x} and {y} are correct",
    "Either {x} or {y}.",
    "{l}",
    "{l}) {t}",
    "({l})",
    "the answer is {l}",
    "A good question. The answer: {x}",
    "Let me think step by step.\n1. {t} is possible.\n2. {u} is not.\nSo the answer is {x}.",
    "1. {x}",
    "1. {x}{y}",
    "1) {t}\n2) {u}",
    "First, {u}.\n\nSecond, {t}.\n\nTherefore {x}",
    "<think>Maybe {y}? The answer is {y}.</think>\n{x}",
    "<think>\nHmm, {u}\n</think>\n\nThe answer is {x}.",
    "#### {x}",
    "So we choose {x}, {y}",
    "Hence, {x},",
    "It depends: {x}",
    "I cannot answer this.",
    "None of these.",
    "As an AI model, I do not know.",
    "",
    "\n",
    "42",
    "11",
    "Choose {x}, {y} or none",
    "{x} because {t}",
    "{x}\n{y}\n",
    "{x},{y}",
    "{x}{y}",
    "Question: what?\n{x}. {t}\n{y}. {u}\nAnswer: {x}",
    "Because of {t}, {x} follows. Also 1. {y}",
)
_CHINESE = (
    "答案是{x}",
    "答案是 {x}。",
    "答案：{x}",
    "答案: {x}",
    "答案是：{x}。{t}",
    "正确答案是{x}，因为{t}",
    "正确答案为 {x}",
    "答案选项是{x}",
    "答案选项应该为{x}",
    "答案选项：{x}",
    "答案选项 **{x}**",
    "答案选项 ({x})",
    "答案选项: {x}",
    "答案应该是{x}",
    "答案应选{x}",
    "答案选{x}",
    "选{x}",
    "选择 {x}",
    "我选择{t}",
    "故选{x}",
    "故选：{x}",
    "故{x}只有{y}对",
    "只有选项{x}是错的",
    "只有{x}正确",
    "只有 {x} 不正确",
    "说法不正确的是{x}",
    "说法错误的是 {x}",
    "说法对的是{x}",
    "{x}是正确的",
    "{x} 是正确答案",
    "选项{x}正确，{y}错误",
    "所以答{x}",
    "所以{x}。",
    "所有{x}",
    "综上，{x}",
    "因为{t}，故{x}。",
    "因此{x}",
    "，因此{x}。",
    "显然 {x}",
    "应该是{x}。",
    "我认为 {x} 为 {y}",
    "答案是《{t}》。",
    "答案是{t}",
    "答案应该是{t}。",
    "答案为{t}",
    "选项{x}",
    "{x}选项",
    "{x}项。",
    "{x}。{t}",
    "{x}，{t}",
    "{x}、{t}",
    "1. {x}",
    "1、{t}。2、{u}。",
    "【答案】{x}",
    "（{x}）",
    "解析：{t}。答案：{x}",
    "不是{x}，而是{y}",
    "无法确定。",
    "{t}",
    "根据题意，{t}，所以选 {x}",
    "**{x}**：{t}",
)
HELD_OUT = (
    "My pick: {x}",
    "After some thought I settle on {x}!",
    "Looking at each option, {t} fits best ({x}).",
    "{x} - {t}",
    "It's {x}",
    "Correct choice => {x}",
    "Solution: we get {t}, that is {x}",
    "{t}\n\nAnswer: {x}\n\nExplanation: {u} is false.",
    "Answer: none, but if forced {x}",
    "*{x}*",
    "`{x}`",
    '{"answer": "{x}"}',
    "<answer>{x}</answer>",
    "The best answer is {x}, since {t}.",
    "The answer is\n{x}",
    "The answer is  (**{x}**)",
    "The correct answer is:\n\n**{x}**. {t}",
    "The correct answer is {t}, so \\boxed{{x}}",
    "The answer is not {y}; it is {x}",
    "Which one? {y}? No. {x}.",
    "{y} is wrong, {x} is right",
    "Of {x}, {y}, I say {y}: it is {u}",
    "Step 1: {t}\nStep 2: {u}\nDone: {x}",
    "10 minus 1 is 9, so {x}",
    "{l}.",
    "{l}: {t}",
    "OPTION {x}",
    "Option{x}",
    "[{x}]",
    "{x}\t{t}",
    "{x}$",
    "The answer is option: {x}",
    "The answer is $\\text{{x}}$",
    "To conclude the answer to the question is: ({x})",
    "I guess {u}, {t}, or {x}",
    "{t}, {u}",
    "not {t}",
    "nothing fits",
    "本题选{x}",
    "本题答案：\n{x}",
    "正确选项为：{x}",
    "正确的选项是 {x}",
    "综上所述，答案是 **{x}**",
    "答案是\n\n{x}",
    "我觉得是 {x}.",
    "答案：（{x}）",
    "答案应为{x}",
    "答案应该选 {x}",
    "应选{x}项",
    "{y}错误，{x}正确。",
    "只有{x}项是对的，故选{y}",
    "说法正确选项的是{x}",
    "所以，{t}即{x}",
    "，即{x}。",
    "{x}不对，{y}是正确的。",
    "由1得{t}，选{u}",
    "答案为“{t}”。因为{u}",
    "答案应该是 {t}（{x}）",
    "所有选项中，{x}",
    "首先看{y}。然后看{x}。",
    "选项 {x} 不正确",
)
_FRAGMENTS = (
    *(
        "答案",
        "选项",
        "是",
        "为",
        "应",
        "该",
        "选",
        "择",
        "：",
        ":",
        " ",
        "  ",
        "\n",
        "。",
        "，",
        ",",
        ".",
        "$",
        "故",
    ),
    *(
        "即",
        "因此",
        "显然",
        "所以",
        "所有",
        "答",
        "只有",
        "对",
        "错",
        "不",
        "正确",
        "错误",
        "说法",
        "的",
        "项",
        "1",
        "1.",
    ),
    *(
        "The answer is",
        "the correct answer is",
        "The correct option is",
        "The answer to the question is",
        " option",
    ),
    *(
        "The correct answer option is",
        "Answer",
        "ANSWER",
        "answer:",
        "boxed{",
        "\\boxed{",
        "}",
        "(",
        ")",
        "*",
        "**",
    ),
    *(
        "Because",
        "Dogs",
        "so",
        "I",
        "b",
        "a",
        "x",
        "{x}",
        "{x}",
        "{x}",
        "{x}",
        "{y}",
        "{y}",
        "{l}",
        "{t}",
        "{t}",
    ),
)


def generated(n: int, seed: int) -> Iterator[Reply]:
    """Yield replies of the templates, each with other options."""
    return _filled((*_ENGLISH, *_CHINESE), n, seed)


def held_out(n: int, seed: int) -> Iterator[Reply]:
    """Yield replies of templates that no rule was written with."""
    return _filled(HELD_OUT, n, seed)


def fuzzed(n: int, seed: int) -> Iterator[Reply]:
    """Yield random strings of words and marks that decide in one rule or another."""
    draw = random.Random(seed)
    for _ in range(n):
        yield _reply("".join(draw.choices(_FRAGMENTS, k=draw.randint(1, 12))), draw)


def recorded(runs: Sequence[Path]) -> Iterator[Reply]:
    """Yield the replies of run folders, with the options of their samples."""
    for run in runs:
        samples = {one["sample"]["id"]: one["sample"] for one in _lines(run / "samples.jsonl")}
        for response in _lines(run / "responses.jsonl"):
            sample = samples[response["request_id"].split("/")[1]]
            choices = dict(zip(sample["labels"], sample["choices"], strict=True))
            for output in response["outcome"].get("outputs", ()):
                yield Reply(output["text"], choices)


def _lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _filled(templates: Sequence[str], n: int, seed: int) -> Iterator[Reply]:
    draw = random.Random(seed)
    for at in range(n):
        yield _reply(templates[at % len(templates)], draw)


def _reply(template: str, draw: random.Random) -> Reply:
    labels = draw.choice(LABEL_SETS)
    choices = dict(zip(labels, draw.sample(_CHOICES, len(labels)), strict=True))
    x, y = draw.sample(labels, 2)
    filled = template
    for name, value in (("x", x), ("y", y), ("l", x.lower()), ("t", choices[x]), ("u", choices[y])):
        filled = filled.replace(f"{{{name}}}", value)
    return Reply(filled, choices)
