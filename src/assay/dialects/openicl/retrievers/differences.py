"""The differences between the originals' retrievers and Assay's."""

from __future__ import annotations

from collections.abc import Callable

from assay.dialects.openicl.retrievers.bm25 import BM25Retriever
from assay.dialects.openicl.retrievers.dpp import DPPRetriever
from assay.dialects.openicl.retrievers.drawn import RandomRetriever
from assay.dialects.openicl.retrievers.mdl import MDLRetriever
from assay.dialects.openicl.retrievers.nearest import EncodingRetriever, TopkRetriever
from assay.dialects.openicl.retrievers.retriever import FixKRetriever, Retriever, SlidingWindowRetriever
from assay.dialects.openicl.retrievers.votek import VotekRetriever
from assay.dialects.shared.differences import Difference


def _build_retriever_check(*kinds: type[Retriever]) -> Callable[[Retriever], bool]:
    """Return a check for tasks with examples from such a retriever."""
    return lambda retriever: isinstance(retriever, kinds) and retriever.count > 0


DIFFERENCES: tuple[Difference[Retriever], ...] = (
    Difference(
        "own_row",
        _build_retriever_check(
            FixKRetriever, RandomRetriever, BM25Retriever, TopkRetriever, MDLRetriever, VotekRetriever
        ),
        "where the train split holds the rows that are evaluated, a row is shown itself with its answer",
        "a row, and any that asks the same and has the same answer, is never its own example; the next takes "
        "its place, but for a fix_id_list, which has no next",
    ),
    Difference(
        "draws",
        _build_retriever_check(RandomRetriever, MDLRetriever),
        "one generator, with the retriever's seed, serves all rows in turn: what a row is shown depends on "
        "how many stand before it",
        "draws depend on --seed, the retriever's seed, the task and the row alone",
    ),
    Difference(
        "too_few_rows",
        _build_retriever_check(BM25Retriever, TopkRetriever),
        "where the train split has fewer rows than are asked for, BM25 shows fewer and Topk repeats the last",
        "it is an error",
    ),
    Difference(
        "negative_index",
        _build_retriever_check(FixKRetriever),
        "OpenCompass counts a negative index from the end; AISBench refuses it",
        "it is an error",
        is_reproduced=False,
    ),
    Difference(
        "retrieved_ties",
        _build_retriever_check(BM25Retriever, TopkRetriever, MDLRetriever),
        "of train rows that are equally near or score alike, be it nothing, the later mostly comes first",
        "the earlier comes first",
        faithful="the later comes first",
    ),
    Difference(
        "bm25_unspaced_scripts",
        _build_retriever_check(BM25Retriever),
        "words are parted by spaces, so that a Chinese sentence is one word that no other row has",
        "a character of a script without spaces is a word",
    ),
    Difference(
        "bm25_sentences",
        _build_retriever_check(BM25Retriever),
        "a trained splitter, whose data has to be downloaded, says which full stops end a sentence",
        "all do, but for those behind a single letter or a title",
        is_reproduced=False,
    ),
    Difference(
        "encoder",
        _build_retriever_check(EncodingRetriever),
        "texts go through the tokenizer of gpt2-xl and back, which cuts long ones off, and become vectors by "
        "all-mpnet-base-v2 or the encoder that the config names",
        "texts become vectors by the encoder at hand, which the run records; vectors have length 1",
        is_reproduced=False,
    ),
    Difference(
        "mdl_model",
        _build_retriever_check(MDLRetriever),
        "sets of examples are compared by gpt2-xl or the model that ce_model_name says",
        "they are compared by the model under test, which is asked before the samples",
        is_reproduced=False,
    ),
    Difference(
        "mdl_loss",
        _build_retriever_check(MDLRetriever),
        "a label's loss is the mean over the tokens of question and label, without the first of them or more",
        "a label's loss is that of the label's own text, summed: minus the logarithm of its probability",
        is_reproduced=False,
    ),
    Difference(
        "mdl_labels",
        _build_retriever_check(MDLRetriever),
        "without a template for each label, the labels are all answers of the test split, in any order",
        "they are the answers of the train split, in its order",
        is_reproduced=False,
    ),
    Difference(
        "dpp_fails",
        _build_retriever_check(DPPRetriever),
        "it stops with a TypeError on the first row",
        "it does what it describes, and never shows a row itself",
        is_reproduced=False,
    ),
    Difference(
        "votek_neighbours",
        _build_retriever_check(VotekRetriever),
        "a row's last neighbour is taken to be the row itself, so that copies of a row lose votes",
        "the row itself is left out by its place",
    ),
    Difference(
        "votek_fill",
        _build_retriever_check(VotekRetriever),
        "where too few rows have votes of their own, others are drawn without a seed, anew in every run",
        "they are drawn by --seed and task",
        is_reproduced=False,
    ),
    Difference(
        "window_behind_the_end",
        _build_retriever_check(SlidingWindowRetriever),
        "a test split that is longer than the train split stops with an IndexError",
        "the train split goes round: behind its last row comes its first",
        faithful="an error before the model is asked",
    ),
)
