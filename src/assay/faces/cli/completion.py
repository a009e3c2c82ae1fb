"""assay completion"""

from __future__ import annotations

import os

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    ZshComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

VARIABLE = "_ASSAY_COMPLETE"
"""Set by the scripts when they ask for names."""
_SHELLS = ("bash", "zsh", "fish")
_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' current=${COMP_WORDS[COMP_CWORD]} type value path
    COMPREPLY=()
    while IFS=',' read -r type value; do
        case $type in
            plain)
                COMPREPLY+=("$value")
                [[ $value == *: ]] && compopt -o nospace
                ;;
            file)
                [[ ${#COMPREPLY[@]} == 0 ]] && compopt -o filenames
                while read -r path; do COMPREPLY+=("$path"); done < <(compgen -f -- "$current")
                ;;
            dir)
                [[ ${#COMPREPLY[@]} == 0 ]] && compopt -o filenames
                while read -r path; do COMPREPLY+=("$path"); done < <(compgen -d -- "$current")
                ;;
        esac
    done < <(
        env COMP_WORDS="${COMP_LINE:0:COMP_POINT}" COMP_BREAKS="$COMP_WORDBREAKS" \\
            %(complete_var)s=bash_complete "$1"
    )
    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


_ZSH = """\
#compdef %(prog_name)s

%(complete_func)s() {
    local -a words_only with_help prefixes lines
    local type value help
    (( ! $+commands[%(prog_name)s] )) && return 1
    lines=("${(@f)$(env COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT-1)) \\
        %(complete_var)s=zsh_complete %(prog_name)s)}")
    for type value help in ${lines}; do
        case $type in
            plain)
                if [[ $help != _ ]]; then with_help+=("$value:$help")
                elif [[ $value == *: ]]; then prefixes+=("$value")
                else words_only+=("$value")
                fi
                ;;
            dir) _path_files -/ ;;
            file) _path_files -f ;;
        esac
    done
    [[ -n $with_help ]] && _describe -V unsorted with_help -U
    [[ -n $prefixes ]] && compadd -U -S '' -V unsorted -a prefixes
    [[ -n $words_only ]] && compadd -U -V unsorted -a words_only
    return 0
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    compdef %(complete_func)s %(prog_name)s
fi
"""


class AssayZshComplete(ZshComplete):
    """Completion for zsh that adds no space after the beginning of a name, such as `lm_eval:`."""

    source_template = _ZSH


class AssayBashComplete(BashComplete):
    """Completion for bash that reads the line itself: bash splits words at colons, as in `lm_eval:mmlu`."""

    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the complete words after the command, and the one at the cursor."""
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)
        incomplete = words.pop() if words and not line[-1:].isspace() else ""
        self._incomplete = incomplete
        return words[1:], incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """Return a line for the script, without what bash has split off the word."""
        value = item.value
        if item.type == "plain" and ":" in os.environ.get("COMP_BREAKS", ":"):
            split_off = self._incomplete.rpartition(":")[0]
            value = value.removeprefix(f"{split_off}:") if split_off else value
        return f"{item.type},{value}"


def register_shells() -> None:
    """Use the classes of this module instead of click's."""
    add_completion_class(AssayBashComplete, "bash")
    add_completion_class(AssayZshComplete, "zsh")


_HELP = """Print the script that completes commands, options, runs and benchmarks with the tab key.

\b
bash, in ~/.bashrc:  eval "$(assay completion bash)"
zsh, in ~/.zshrc:    eval "$(assay completion zsh)"
fish:                assay completion fish > ~/.config/fish/completions/assay.fish
"""


@click.command(help=_HELP)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a shell's completion script."""
    register_shells()
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, "assay", VARIABLE).source(), nl=False)
