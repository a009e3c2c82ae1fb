"""assay explain"""

from __future__ import annotations

from collections.abc import Sequence

import click

from assay.app.explain import ExplainedAsk, Explanation
from assay.core.errors import format_count
from assay.core.model import Token
from assay.core.request import Kind
from assay.core.response import Completion, Failure, LabelProbs, Likelihood, Output
from assay.core.rounding import format_number
from assay.core.score import JudgeReply, OptionNumbers, Score, Verdict
from assay.faces.cli.completers import complete_run
from assay.faces.cli.json_output import Answer, json_option
from assay.faces.cli.options import is_offline, offline_option, resolve_runs_folder, runs_option

_HARDEST_TOKENS = 20
_TOKENS_BEFORE = 8
_SHOWN_CHARS = 300
"""Characters of a long text to show."""


@click.command()
@click.argument("run", shell_complete=complete_run)
@click.argument("sample")
@runs_option
@click.option(
    "--tokens/--no-tokens", default=True, help="Show the tokens of the prompts, from the model's tokenizer."
)
@click.option(
    "--all-tokens", is_flag=True, help="Show all tokens of a prompt, not only those near the answer."
)
@offline_option
@json_option
def explain(
    run: str,
    sample: str,
    runs_dir: str | None,
    tokens: bool,
    all_tokens: bool,
    offline: bool | None,
    is_json: bool,
) -> Answer | None:
    """Show one sample in detail: prompt, tokens with the prompt/answer boundary, numbers, extraction rules.

    RUN is a folder, an id or `last`; SAMPLE is an id, a prefix of one, or row:17.
    """
    from assay.app.explain import explain as explain_sample
    from assay.app.stored_runs import find_run

    found = find_run(run, resolve_runs_folder(runs_dir))
    explanation = explain_sample(found, sample, with_tokens=tokens, offline=is_offline(offline))
    if is_json:
        from assay.faces.cli.answers import build_explain_answer

        return Answer(build_explain_answer(explanation))
    _show(explanation, all_tokens)
    return None


def _show(explanation: Explanation, all_tokens: bool) -> None:
    from rich.markup import escape

    from assay.faces.cli.console import out
    from assay.faces.cli.render import print_prompt

    sample = explanation.sample.sample
    out.print(f"[bold]{escape(sample.id)}[/]  {escape(str(sample.origin))}", soft_wrap=True)
    for label, choice, index in zip(sample.labels, sample.choices, range(len(sample.choices)), strict=True):
        mark = " [green](right)[/]" if index in sample.gold else ""
        out.print(f"  {escape(label)}. {escape(choice)}{mark}", soft_wrap=True)
    if sample.targets:
        out.print(f"  right: [green]{escape(' | '.join(sample.targets))}[/]", soft_wrap=True)
    for index, context in enumerate(explanation.sample.contexts):
        if context:
            print_prompt(context, f"context {index}: exact text")
    for score in explanation.scores:
        _show_score(score, [ask for ask in explanation.asks if ask.record.track == score.track], all_tokens)


def _show_score(score: Score, asks: Sequence[ExplainedAsk], all_tokens: bool) -> None:
    """Print the requests, responses and score of one method."""
    from rich.markup import escape

    from assay.faces.cli.console import out

    out.print(f"\n[bold cyan]{score.track}[/]  {_verdict(score)}", soft_wrap=True)
    # Accuracy under other normalisations follows from the table of options.
    if score.also and score.metric != "accuracy":
        others = ", ".join(f"{escape(name)} {format_number(value)}" for name, value in score.also.items())
        out.print(f"  [dim]also[/] {others}", soft_wrap=True)
    if (shots := _shots(asks)) is not None:
        out.print(f"  {shots}")
    if score.options:
        out.print(_option_table(score))
    if score.mass is not None:
        out.print(f"  [dim]probability of the labels[/] {score.mass:.4f}")
    if score.margin is not None:
        out.print(f"  [dim]margin over the runner-up[/] {score.margin:.4f}")
    for ask in asks:
        _show_ask(ask, all_tokens)
    for reply in score.judged:
        _show_reply(reply)


def _verdict(score: Score) -> str:
    from rich.markup import escape

    if score.why:
        return f"[red]{score.verdict}[/]: {escape(score.why)}"
    if score.metric in score.ratios:
        return f"{score.verdict}, perplexity [bold]{format_number(score.value)}[/] per token of this text"
    worth = "" if score.value is None else f", {escape(score.metric)} {format_number(score.value)}"
    return (
        f"{score.verdict}{worth}: answer [bold]{escape(score.answer or 'none')}[/], "
        f"target {escape(score.target or 'unknown')}, by {escape(score.rule or 'no rule')}"
    )


def _shots(asks: Sequence[ExplainedAsk]) -> str | None:
    """Return the number of examples in a method's prompts; None for zero-shot."""
    record = max((ask.record for ask in asks), key=lambda r: r.n_shots + r.n_shots_left_out, default=None)
    if record is None or not record.n_shots + record.n_shots_left_out:
        return None
    if not record.n_shots_left_out:
        return f"[dim]examples shown[/] {record.n_shots}"
    requested = record.n_shots + record.n_shots_left_out
    return f"[yellow]examples shown: {record.n_shots} of {requested}; the others do not fit[/]"


def _option_table(score: Score) -> object:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    if score.options[0].prob is not None:
        table.add_column("option")
        table.add_column("share", justify="right")
        has_bounds = any(option.prob_at_most is not None for option in score.options)
        if has_bounds:
            table.add_column("at most", justify="right")
        for option in score.options:
            bound = [f"{option.prob_at_most:.4f}"] if option.prob_at_most is not None else []
            table.add_row(option.label, f"{option.prob:.4f}", *bound)
        return table
    shows_pmi = any(option.unconditional is not None for option in score.options)
    pmi_headings = ("without question", "pmi") if shows_pmi else ()
    for heading in ("option", "sum", "tokens", "per token", "per char", "per byte", *pmi_headings, "greedy"):
        table.add_column(heading, justify="left" if heading == "option" else "right")
    for option in score.options:
        table.add_row(*_option_row(option, shows_pmi=shows_pmi))
    return table


def _option_row(option: OptionNumbers, *, shows_pmi: bool) -> list[str]:
    total, alone = option.sum_logprob or 0.0, option.unconditional
    pmi = ["-", "-"] if alone is None else [f"{alone:.4f}", f"{total - alone:.4f}"]
    return [
        option.label,
        f"{total:.4f}",
        str(option.n_tokens),
        *(f"{total / n:.4f}" if n else "-" for n in (option.n_tokens, option.n_chars, option.n_bytes)),
        *(pmi if shows_pmi else ()),
        {True: "yes", False: "no", None: "-"}[option.is_greedy],
    ]


def _show_ask(ask: ExplainedAsk, all_tokens: bool) -> None:
    from rich.markup import escape

    from assay.faces.cli.console import out

    record = ask.record
    name = f"{record.role} {record.index}"
    outcome = ask.response.outcome if ask.response else None
    if isinstance(outcome, Failure):
        out.print(f"  [red]{name}: {outcome.kind}: {escape(outcome.message)}[/]", soft_wrap=True)
    elif isinstance(outcome, Likelihood) and record.windows is not None:
        _show_text(ask, outcome, all_tokens)
        return
    elif isinstance(outcome, Likelihood):
        out.print(f"  [bold]{name}[/] {escape(repr(record.text))}: {outcome.sum_logprob:.4f}", soft_wrap=True)
        if outcome.straddles:
            out.print("  [yellow]the first scored token starts in the prompt[/]")
    elif isinstance(outcome, LabelProbs):
        spelled = ", ".join("/".join(map(repr, spellings)) for spellings in record.labels)
        out.print(f"  [bold]{name}[/] {escape(spelled)}", soft_wrap=True)
    elif isinstance(outcome, Completion):
        _show_completion(ask, outcome)
    if ask.tokens and record.role != "unconditional":
        out.print(
            "  " + _token_line(ask.tokens, all_tokens, is_span=record.kind is Kind.SPAN), soft_wrap=True
        )


def _show_text(ask: ExplainedAsk, outcome: Likelihood, all_tokens: bool) -> None:
    """Print the likelihood of a long text and its least likely tokens."""
    from rich.markup import escape
    from rich.table import Table

    from assay.faces.cli.console import out

    text = ask.record.text
    beginning = text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + " ..."
    out.print(f"  [dim]text[/] {escape(repr(beginning))}", soft_wrap=True)
    out.print(
        f"  log-likelihood [bold]{outcome.sum_logprob:.4f}[/] over {outcome.n_tokens:,} tokens, "
        f"{outcome.n_words:,} words, {outcome.n_bytes:,} bytes",
        soft_wrap=True,
    )
    texts = [token.text for token in ask.tokens]
    places = [at for at, token in enumerate(ask.tokens) if token.is_scored]
    order: Sequence[int] = range(outcome.n_tokens)
    if not all_tokens:
        order = sorted(order, key=outcome.token_logprobs.__getitem__)[:_HARDEST_TOKENS]
        out.print(f"  the {len(order)} least likely tokens; --all-tokens shows all")
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 2))
    for heading in ("position", "log-probability", "token", "after"):
        table.add_column(heading, justify="right" if heading in ("position", "log-probability") else "left")
    for nth in order:
        at = places[nth] if nth < len(places) else None
        shown = "" if at is None else repr(texts[at])
        before = "" if at is None else repr("".join(texts[max(0, at - _TOKENS_BEFORE) : at]))
        id_ = outcome.token_ids[nth]
        logprob = f"{outcome.token_logprobs[nth]:.4f}"
        table.add_row(f"{nth + 1:,}", logprob, escape(f"{id_}:{shown}"), escape(before))
    out.print(table, soft_wrap=not out.is_terminal)


def _show_completion(ask: ExplainedAsk, outcome: Completion) -> None:
    from rich.markup import escape

    from assay.core.response import Finish
    from assay.core.text_preview import shorten_text
    from assay.faces.cli.console import out
    from assay.faces.cli.render import SHOWN_PROMPT, print_panel

    endings = {
        Finish.END: "ended by the model",
        Finish.STOP: "ended by a stop text",
        Finish.LENGTH: "truncated at the token limit",
        Finish.UNKNOWN: "why it ended is not in the log",
    }
    for output in outcome.outputs:
        length = f"{format_count(output.n_tokens, 'token')}, " if output.n_tokens else ""
        if output.has_thought:
            _show_thought(output)
        title = f"output: {length}{endings[output.finish]}"
        # The first turn of a conversation is the prompt above.
        later = [f"[bold cyan]user[/]\n{escape(turn)}\n[bold cyan]assistant[/]" for turn in ask.record.turns]
        answers = [escape(shorten_text(text, SHOWN_PROMPT)) for text in output.turns or (output.text,)]
        spoken = [answers[0], *(line for pair in zip(later, answers[1:], strict=False) for line in pair)]
        print_panel("\n".join(spoken), title)
        for call in output.calls:
            out.print(
                f"  [dim]called[/] {escape(call.name)} [dim]with[/] {escape(call.arguments)}", soft_wrap=True
            )
    for attempt in ask.attempts:
        found = "no" if attempt.found is None else f"[green]{escape(attempt.found)}[/]"
        span = "" if attempt.start is None else f" [dim]at {attempt.start}..{attempt.end}[/]"
        out.print(f"  [dim]rule[/] {escape(attempt.rule):<24} {found}{span}", soft_wrap=True)


def _show_thought(output: Output) -> None:
    from rich.markup import escape

    from assay.core.text_preview import shorten_text
    from assay.faces.cli.console import out
    from assay.faces.cli.render import SHOWN_PROMPT, print_panel

    length = f": {output.n_thinking_tokens:,} tokens" if output.n_thinking_tokens else ""
    cut = ", truncated before the answer began" if output.is_cut_in_thought else ""
    if output.reasoning is None:
        out.print(f"  [dim]thought{length}{cut}; the server does not return its text[/]", soft_wrap=True)
        return
    text = escape(shorten_text(output.reasoning, SHOWN_PROMPT))
    title = f"thought, not part of the answer{length}{cut}"
    print_panel(text, title)


def _show_reply(reply: JudgeReply) -> None:
    """Print a judge's prompt, its reply and the verdict."""
    from rich.markup import escape

    from assay.core.text_preview import shorten_text
    from assay.faces.cli.console import out
    from assay.faces.cli.render import SHOWN_PROMPT, print_panel, print_prompt

    print_prompt(reply.prompt, f"judge prompt: {reply.about}")
    if reply.verdict is not Verdict.FAILED:
        print_panel(escape(shorten_text(reply.text, SHOWN_PROMPT)), f"judge reply: {reply.about}")
    if reply.value is not None:
        span = "" if reply.span is None else f" [dim]at {reply.span[0]}..{reply.span[1]}[/]"
        verdict, rule = escape(reply.label or ""), escape(reply.rule or "no rule")
        value = format_number(reply.value)
        out.print(f"  [green]{verdict}[/], score {value}, by {rule}{span}", soft_wrap=True)
    else:
        out.print(f"  [red]{escape(reply.why or '')}[/]", soft_wrap=True)


def _token_line(tokens: tuple[Token, ...], all_tokens: bool, *, is_span: bool) -> str:
    """Return token ids and texts, with a bar where the scored part begins."""
    from rich.markup import escape

    first_scored = next((i for i, token in enumerate(tokens) if token.is_scored), len(tokens))
    start = 0 if all_tokens else max(0, (first_scored if is_span else len(tokens)) - 6)
    parts = [f"[dim]... {start} tokens before[/]"] if start else []
    for index in range(start, len(tokens)):
        if index == first_scored:
            parts.append("[bold red]┃[/]")
        token = tokens[index]
        text = f"{token.id}:{escape(repr(token.text))}"
        parts.append(f"[bold]{text}[/]" if token.is_scored else f"[dim]{text}[/]")
    return " ".join(parts)
