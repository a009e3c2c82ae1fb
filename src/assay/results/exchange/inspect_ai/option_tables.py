"""What decided a score, as text for people."""

from __future__ import annotations

from assay.core.rounding import format_number
from assay.core.score import Score
from assay.results.rows import markdown_table


def describe_options(score: Score) -> str:
    """Return why a sample has its score: the options with their numbers, the judge's replies, or the rule."""
    parts = []
    if score.options:
        is_prob = any(option.prob is not None for option in score.options)
        headings = ("option", "probability") if is_prob else ("option", "log-probability", "tokens")
        rows = [
            [
                f"**{option.label}**" if option.label == score.answer else option.label,
                *(
                    [format_number(option.prob)]
                    if is_prob
                    else [format_number(option.sum_logprob), str(option.n_tokens or "")]
                ),
            ]
            for option in score.options
        ]
        parts.append(markdown_table(headings, rows))
    parts += [f"{reply.about}: {reply.text}" for reply in score.judged]
    if score.rule is not None:
        parts.append(f"Rule: {score.rule}")
    return "\n\n".join(parts)
