"""The differences between the originals' retrievers and Assay's."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay.core.difference import Difference
from assay.dialects.openicl.retrievers.bm25 import BM25Retriever
from assay.dialects.openicl.retrievers.dpp import DPPRetriever
from assay.dialects.openicl.retrievers.drawn import RandomRetriever
from assay.dialects.openicl.retrievers.mdl import MDLRetriever
from assay.dialects.openicl.retrievers.nearest import EncodingRetriever, TopkRetriever
from assay.dialects.openicl.retrievers.retriever import FixKRetriever, Retriever, SlidingWindowRetriever
from assay.dialects.openicl.retrievers.votek import VotekRetriever


def _build_retriever_check(*kinds: type[Retriever]) -> Callable[[Retriever], bool]:
    """Return a check for tasks with examples from such a retriever."""
    return lambda retriever: isinstance(retriever, kinds) and retriever.count > 0


DIFFERENCES: Mapping[str, Difference[Retriever]] = {
    "own_row": Difference(
        "if the train split contains the evaluated rows, a row can be its own example, with its answer",
        "a row, or another with the same question and answer, is never its own example; the next row "
        "replaces it, except in a fix_id_list",
        _build_retriever_check(
            FixKRetriever, RandomRetriever, BM25Retriever, TopkRetriever, MDLRetriever, VotekRetriever
        ),
    ),
    "draws": Difference(
        "one generator with the retriever's seed serves all rows in turn, so a row's examples depend on the "
        "number of rows before it",
        "draws depend only on --seed, the retriever's seed, the task and the row",
        _build_retriever_check(RandomRetriever, MDLRetriever),
    ),
    "too_few_rows": Difference(
        "if the train split has too few rows, BM25 shows fewer examples and Topk repeats the last one",
        "it is an error",
        _build_retriever_check(BM25Retriever, TopkRetriever),
    ),
    "negative_index": Difference(
        "OpenCompass counts a negative index from the end; AISBench rejects it",
        "it is an error",
        _build_retriever_check(FixKRetriever),
        is_reproduced=False,
    ),
    "retrieved_ties": Difference(
        "of train rows with the same distance or score, even a score of 0, the later one usually comes first",
        "the earlier one comes first",
        _build_retriever_check(BM25Retriever, TopkRetriever, MDLRetriever),
        faithful="the later one comes first",
    ),
    "bm25_unspaced_scripts": Difference(
        "words are separated by spaces, so a whole Chinese sentence is one word that no other row has",
        "in scripts without spaces, each character is a word",
        _build_retriever_check(BM25Retriever),
    ),
    "bm25_sentences": Difference(
        "a trained model, whose data must be downloaded, decides which full stops end a sentence",
        "every full stop does, except after a single letter or a title",
        _build_retriever_check(BM25Retriever),
        is_reproduced=False,
    ),
    "encoder": Difference(
        "texts are encoded and decoded with the gpt2-xl tokenizer, which cuts off long ones; "
        "all-mpnet-base-v2, or the encoder in the config, embeds them",
        "the available encoder embeds the texts, and the run records its name; vectors have length 1",
        _build_retriever_check(EncodingRetriever),
        is_reproduced=False,
    ),
    "mdl_model": Difference(
        "gpt2-xl, or the model in ce_model_name, compares sets of examples",
        "the evaluated model compares them, before it answers the samples",
        _build_retriever_check(MDLRetriever),
        is_reproduced=False,
    ),
    "mdl_loss": Difference(
        "a label's loss is the mean over the tokens of question and label, without the first token or the "
        "first few",
        "a label's loss is the negative log-probability of the label's own text",
        _build_retriever_check(MDLRetriever),
        is_reproduced=False,
    ),
    "mdl_labels": Difference(
        "without a template for each label, the labels are all answers of the test split, in undefined order",
        "they are the answers of the train split, in its order",
        _build_retriever_check(MDLRetriever),
        is_reproduced=False,
    ),
    "dpp_fails": Difference(
        "the retriever raises a TypeError on the first row",
        "it works as documented, and never shows a row as its own example",
        _build_retriever_check(DPPRetriever),
        is_reproduced=False,
    ),
    "votek_neighbours": Difference(
        "a row's last neighbour is assumed to be the row itself, so copies of a row lose votes",
        "the row itself is excluded by its index",
        _build_retriever_check(VotekRetriever),
    ),
    "votek_fill": Difference(
        "if too few rows have votes, others are drawn without a seed, differently in each run",
        "they are drawn by --seed and task",
        _build_retriever_check(VotekRetriever),
        is_reproduced=False,
    ),
    "window_behind_the_end": Difference(
        "a test split that is longer than the train split raises an IndexError",
        "after its last row, the train split starts over",
        _build_retriever_check(SlidingWindowRetriever),
        faithful="an error before the run",
    ),
}
