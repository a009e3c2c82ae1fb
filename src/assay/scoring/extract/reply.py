"""Which part of a reply may contain the answer: not the reasoning, not invented further turns.

Returns offsets instead of new text, so that an answer can be shown in the original output.
"""

from __future__ import annotations

import re

_REASONING = re.compile(
    r"<(?P<close>/?)(?:think|thinking|thought|reasoning)>"
    r"|\[(?P<bracket_close>/?)THINK\]"
    r"|◁(?P<arrow_close>/?)think▷"
    r"|<\|channel\|>(?:(?P<final>final)|analysis|commentary)(?:<\|message\|>)?",
    re.IGNORECASE,
)
# A line that starts a new question, and marks of a new turn.
_NEXT_QUESTION = re.compile(
    r"(?:^|\n)[ \t>#*_\-]*"
    r"(?:(?:next|new|another)\s+)?"
    r"(?:(?:question|problem|exercise|human|user|instruction|q|问题|題目|题目|問題|질문|문제)"
    r"\s*(?:\#?\d+\s*)?[*_]*\s*[:：]"
    r"|(?:question|problem|exercise|example)\s+\#?\d+\b"
    r"|(?:next|new|another)\s+(?:question|problem)\b)",
    re.IGNORECASE,
)
_END_OF_TURN = re.compile(
    r"<\|(?:im_end|im_start|endoftext|end_of_text|eot_id|eom_id|end|user|start_header_id)\|>"
    r"|</s>|<eos>|<end_of_turn>"
)
REFUSAL = re.compile(
    r"\b(?:can\s?not|can['’]t|could\s+not|unable\s+to|not\s+able\s+to|do(?:es)?\s+not|don['’]t|won['’]t|would\s+not|can\s+only)"
    r"\s+(?:\w+ly\s+)?(?:be\s+)?(?:answer(?:ed)?|determined?|calculated?|comput(?:e|ed)|know|assist|help|provide|choose|decide"
    r"|pick|select|tell|say|see|solved?|have\s+(?:enough|access|that|the|any))\b"
    r"|\bas\s+an\s+AI\b|\bI['’]?\s*a?m\s+(?:sorry\s*[.,]?\s*(?:but\s+)?I\s+(?:ca|do|am|won)|not\s+(?:\w+ly\s+)?(?:sure|certain)|unsure)"
    r"|\b(?:not|isn['’]t|is\s+no|no)\s+(?:enough|sufficient)\s+(?:information|data|context)|\binsufficient\s+(?:information|data)"
    r"|\bit\s+depends\b|\b(?:I['’]d|I\s+would|I)\s+need\s+(?:more|to\s+know)|^\W*unknown\b"
    r"|(?:无法|無法|不能|没法)(?:确定|判断|回答|计算|確定|計算)|不知道|信息不足|条件不足|不确定|抱歉"
    r"|알\s*수\s*없|모르겠|죄송|부족|계산할\s*수\s*없|わかりません|分かりません|申し訳|計算できません|できません"
    r"|no\s+(?:lo\s+)?sé\b|no\s+puedo|no\s+(?:hay|tengo)\s+suficiente|lo\s+siento|ne\s+peux\s+pas|je\s+ne\s+sais|désolé"
    r"|weiß\s+(?:es\s+|ich\s+(?:es\s+)?)?nicht|nicht\s+(?:beantworten|berechnen|bestimmen)|tut\s+mir\s+leid"
    r"|не\s+могу|не\s+знаю|недостаточно|к\s+сожалению|não\s+sei|não\s+posso|desculpe|non\s+(?:lo\s+)?so\b|non\s+posso"
    r"|لا\s+(?:أعرف|أستطيع|يمكنني)|عذر|क्षमा\s+करें|नहीं\s+(?:दे\s+सकता|जानता|पता)",
    re.IGNORECASE,
)
"""Words with which a model declines to answer."""
_ASKS_FOR_ANSWER = re.compile(r"(?:answer|答案|정답|답)\s*[*_]*[:：]$", re.IGNORECASE)


def find_searchable_part(text: str) -> tuple[int, int] | None:
    """Return the part of a reply to search; None if all of it is unfinished reasoning.

    A base model that continues with its own question has answered before it.
    """
    region = find_spoken_part(text)
    if region is None:
        return None
    start, end = region
    if end - start > 2:
        end = _find_next_question(text, start, end)
    return start, end


def find_spoken_part(text: str) -> tuple[int, int] | None:
    """Return the model's own turn; None if all of it is unfinished reasoning.

    Only the text after the last closing reasoning tag counts (its opening may be in the prompt). A reasoning
    tag that is never closed means that the model did not reach its answer.
    """
    start, end = 0, len(text)
    # The tags need one of these characters; most replies have none.
    if "<" in text or "[" in text or "◁" in text:
        tags = list(_REASONING.finditer(text))
        if tags:
            last = tags[-1]
            if not (last["close"] or last["bracket_close"] or last["arrow_close"] or last["final"]):
                return None
            start = last.end()
        ended = _END_OF_TURN.search(text, start)
        if ended:
            end = ended.start()
    return start, end


def _find_next_question(text: str, start: int, end: int) -> int:
    for match in _NEXT_QUESTION.finditer(text, start, end):
        before = text[start : match.start()].rstrip()
        if not before:
            continue  # the reply opens by repeating the question
        if before.endswith((":", "：")) and not _ASKS_FOR_ANSWER.search(before):
            continue  # "Let me restate it:" announces the same question, not a new one
        return match.start()
    return end
