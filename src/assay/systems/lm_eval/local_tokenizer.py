"""What lm-eval's files contain of a local model's tokenizer: rendered conversations and special tokens."""

from __future__ import annotations

from typing import Any

from assay.backends.local.local_model import LocalModel
from assay.backends.registry import open_backend
from assay.core.prompt import Prompt
from assay.core.request import Generate, Sampling
from assay.results.exchange.lm_eval_files import hash_text
from assay.systems.lm_eval.models import ResolvedModel


class LocalTokenizer:
    """The tokenizer of a local model, which renders conversations; a server does so itself."""

    def __init__(self, model: LocalModel) -> None:
        self._model = model

    def format_prompt(self, prompt: Prompt) -> Any:
        """Return a prompt as the model reads it."""
        if isinstance(prompt, str):
            return prompt
        return "".join(token.text for token in self._model.tokens(Generate(prompt, Sampling())))

    def find_text(self, token_id: int) -> str | None:
        """Return the text of a token in a reply; None if replies do not show it."""
        return self._model.find_reply_text(token_id)

    def count_parameters(self) -> int | None:
        """Return the model's number of weights, if its files say it."""
        return self._model.count_parameters()

    def describe(self, *, is_chat: bool) -> dict[str, Any]:
        """Return the keys of the results file that depend on the tokenizer."""
        tokens = self._model.special_tokens()
        pad = next((one for one in (tokens.pad, tokens.unk, tokens.eos) if one[0] is not None), tokens.pad)
        template = tokens.chat_template if is_chat else None
        return {
            **{
                f"tokenizer_{name}_token": [text, str(id_)]
                for name, (text, id_) in (("pad", pad), ("eos", tokens.eos), ("bos", tokens.bos))
            },
            "eot_token_id": tokens.eos[1],
            "chat_template": template,
            "chat_template_sha": hash_text(template) if template else None,
        }


def open_tokenizer(model: ResolvedModel) -> LocalTokenizer | None:
    """Return the tokenizer of a local model; None for any other."""
    backend = open_backend(model.name, model.args)
    return LocalTokenizer(backend) if isinstance(backend, LocalModel) else None
