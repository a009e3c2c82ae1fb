"""Synthetic loads: lengths, shared prefixes, and the same items for the same seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.bench.items import LoadItem
from assay.bench.lengths import ConstantLength, Gaussian, LengthDistribution, LengthShares, Uniform, Zipf
from assay.bench.synthetic import PromptKind, SyntheticItemSource, SyntheticSpec
from assay.bench.synthetic_config import read_synthetic_config
from assay.bench.tokenizer import Tokenizer, open_tokenizer
from assay.core.errors import AuthorError, UsageError
from assay.core.origin import Origin
from assay.core.prompt import Message
from fakes.beginnings import common_beginning
from fakes.tokenizer_files import write_tokenizers

HERE = Origin("config.json")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return open_tokenizer(str(write_tokenizers(tmp_path_factory.mktemp("tokenizers"))["pieces"]))


def text(item: LoadItem) -> str:
    assert isinstance(item.prompt, str)
    return item.prompt


@settings(max_examples=40)
@given(
    st.sampled_from(["text", "token_ids"]),
    st.integers(1, 12),
    st.integers(0, 30),
    st.integers(1, 3),
    st.integers(0, 3),
)
def test_items_have_the_drawn_tokens_and_the_beginning_of_their_group(
    tokenizer: Tokenizer, kind: PromptKind, n: int, prefix: int, groups: int, seed: int
) -> None:
    lengths = Uniform(max(prefix, 1), prefix + 60)
    spec = SyntheticSpec(n, lengths, Uniform(1, 9), kind, prefix, groups, seed=seed, is_chat=False)
    load = SyntheticItemSource(spec, tokenizer)
    items = list(load)
    wanted = lengths.draw(n, seed, "input")
    assert [item.id for item in items] == [str(number) for number in range(n)]
    assert all(1 <= (item.max_tokens or 0) <= 9 for item in items)
    assert all(item.n_prompt_tokens == tokenizer.count(text(item)) for item in items)
    if not load.list_notes(0):
        assert [item.n_prompt_tokens for item in items] == [wanted(number) for number in range(n)]
    for group in range(groups):
        members = [text(item) for item in items[group::groups]]
        if prefix and members:
            shared = tokenizer.count(common_beginning(members))
            assert shared >= prefix - 1 or load.list_notes(0)


def test_items_depend_on_the_seed_and_their_number_alone() -> None:
    def items(n: int, seed: int) -> list[LoadItem]:
        return list(SyntheticItemSource(SyntheticSpec(n, Uniform(20, 60), Zipf(1.5, 1, 50), seed=seed)))

    assert items(5, 0) == items(9, 0)[:5]
    assert items(5, 0) != items(5, 1)


def test_no_prompt_is_the_beginning_of_another() -> None:
    texts = [text(item) for item in SyntheticItemSource(SyntheticSpec(300, Uniform(20, 40), is_chat=False))]
    longest = max(len(common_beginning([one, other])) for one in texts for other in texts if one is not other)
    assert longest < min(map(len, texts)) / 2


def test_groups_have_beginnings_of_their_own() -> None:
    spec = SyntheticSpec(9, ConstantLength(80), shared_prefix=40, prefix_groups=3, is_chat=False)
    texts = [text(item) for item in SyntheticItemSource(spec)]
    for group in range(3):
        assert len(common_beginning(texts[group::3]).split()) >= 29
    assert len({one[:60] for one in texts}) == 3
    assert len(set(texts)) == 9


def test_warm_up_items_are_none_of_the_loads(tokenizer: Tokenizer) -> None:
    load = SyntheticItemSource(SyntheticSpec(4, Uniform(10, 20)), tokenizer)
    warmup = load.warmup(6)
    assert not warmup.are_measured
    assert len({item.prompt for item in warmup.items}) == 6
    assert {item.prompt for item in warmup.items}.isdisjoint(item.prompt for item in load)
    plain = SyntheticItemSource(SyntheticSpec(20, ConstantLength(50), is_chat=False))
    beginnings = [text(item).split(",")[0] for item in (*plain, *plain.warmup(20).items)]
    assert len(set(beginnings)) == 40


def test_prompts_are_messages_unless_text_is_asked() -> None:
    (item,) = SyntheticItemSource(SyntheticSpec(1, ConstantLength(9)))
    assert isinstance(item.prompt, tuple)
    assert isinstance(item.prompt[0], Message)
    assert item.prompt[0].role == "user"


def test_token_ids_come_from_the_whole_vocabulary_without_its_special_tokens(tokenizer: Tokenizer) -> None:
    spec = SyntheticSpec(40, ConstantLength(100), kind="token_ids", is_chat=False)
    texts = [text(item) for item in SyntheticItemSource(spec, tokenizer)]
    assert not any("<s>" in one or "</s>" in one for one in texts)
    seen = {token for one in texts for token in tokenizer.ids(one)}
    assert len(seen) > 400


def test_what_cannot_be_exact_is_said() -> None:
    class Merging(Tokenizer):
        """Never gives back more than three tokens."""

        def __init__(self) -> None:
            pass

        def plain_ids(self, vocab_size: int | None = None) -> list[int]:
            return [1]

        def ids(self, text: str) -> list[int]:
            return [1] * min(len(text), 3)

        def decode(self, ids: Any) -> str:
            return "x" * len(ids)

    load = SyntheticItemSource(SyntheticSpec(2, ConstantLength(5), kind="token_ids"), Merging())
    assert [item.n_prompt_tokens for item in load] == [3, 3]
    assert load.list_notes(0) == (
        "2 prompts do not have exactly the requested number of tokens; they are off by -2 to -2 tokens",
    )


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        (
            SyntheticSpec(1, ConstantLength(9), kind="token_ids"),
            "BENCH-021",
            "need a tokenizer, but none was given",
        ),
        (SyntheticSpec(0, ConstantLength(9)), "BENCH-025", "0 requests"),
        (SyntheticSpec(1, ConstantLength(9), prefix_groups=0), "BENCH-025", "0 prefix groups"),
        (
            SyntheticSpec(1, Uniform(9, 20), shared_prefix=10),
            "BENCH-025",
            "share 10 tokens, but the shortest has 9",
        ),
    ],
)
def test_loads_that_cannot_be_made_are_reported(spec: SyntheticSpec, code: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        SyntheticItemSource(spec)
    assert caught.value.problems[0].code == code
    assert message in caught.value.problems[0].what


# --- AISBench's config ---


def config(prompts: dict[str, Any], **more: Any) -> dict[str, Any]:
    output = {"Method": "uniform", "Params": {"MinValue": 1, "MaxValue": 9}}
    return {
        "Type": "string",
        "RequestCount": 10,
        "StringConfig": {"Input": prompts, "Output": output},
        **more,
    }


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("uniform", {"MinValue": 1, "MaxValue": 200}, Uniform(1, 200)),
        (
            "gaussian",
            {"Mean": 100, "Var": 200.5, "MinValue": 1, "MaxValue": 2**20},
            Gaussian(100, 200.5, 1, 2**20),
        ),
        ("zipf", {"Alpha": 10, "MinValue": 3, "MaxValue": 3}, Zipf(10, 3, 3)),
    ],
)
def test_the_originals_string_config(
    method: str, params: dict[str, Any], expected: LengthDistribution
) -> None:
    spec = read_synthetic_config(
        config({"Method": method, "Params": params}, Type="String", TrustRemoteCode=False), HERE
    )
    assert (spec.n, spec.input, spec.output, spec.kind) == (10, expected, Uniform(1, 9), "text")


def test_shares_in_a_config_are_an_addition() -> None:
    pairs = {"PercentageDistribute": [[128, 0.3], [512, 0.7]]}
    spec = read_synthetic_config(config({"Method": "percentage", "Params": pairs}), HERE)
    assert isinstance(spec.input, LengthShares)
    assert spec.input.counts(10) == (3, 7)


def test_the_originals_token_id_config() -> None:
    given = {"RequestSize": 64, "PrefixLen": 16, "VocabSize": 300}
    spec = read_synthetic_config({"Type": "tokenid", "RequestCount": 3, "TokenIdConfig": given}, HERE, seed=4)
    assert (spec.input, spec.kind, spec.shared_prefix, spec.vocab_size, spec.seed) == (
        ConstantLength(64), "token_ids", 16, 300, 4,
    )  # fmt: skip
    assert spec.output is None


UNIFORM = {"MinValue": 1, "MaxValue": 2}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"RequestCount": 1}, "'Type' is missing"),
        (config({}, Type="strings"), "'Type': found 'strings'"),
        (config({}, RequestCount=0), "'RequestCount': found 0, expected an integer from 1 to 1048576"),
        (config({}, RequestCount=True), "'RequestCount': found True"),
        (config({}, RequestCount="10"), "'RequestCount': found '10'"),
        (config({}, TrustRemoteCode=1), "'TrustRemoteCode': found 1"),
        (config({}, RequestCont=1), "unknown key 'RequestCont' (did you mean 'RequestCount'?)"),
        (config({}), "'StringConfig.Input.Method' is missing"),
        (config({"Method": "unifrm", "Params": {}}), "'StringConfig.Input.Method': found 'unifrm'"),
        (config({"Method": ["uniform"], "Params": {}}), "'StringConfig.Input.Method': found ['uniform']"),
        (
            config({"Method": "uniform", "Params": []}),
            "'StringConfig.Input.Params': found [], expected a dict",
        ),
        (
            config({"Method": "uniform", "Params": {"MinValue": 1}}),
            "'StringConfig.Input.Params.MaxValue' is missing",
        ),
        (
            config({"Method": "uniform", "Params": {**UNIFORM, "Mean": 1}}),
            "unknown key 'StringConfig.Input.Params.Mean'",
        ),
        (
            config({"Method": "uniform", "Params": {"MinValue": 3, "MaxValue": 2}}),
            "'StringConfig.Input.Params.MinValue'",
        ),
        (config({"Method": "uniform", "Params": {"MinValue": 1.0, "MaxValue": 2}}), "found 1.0"),
        (
            config({"Method": "zipf", "Params": {"Alpha": 1, **UNIFORM}}),
            "'StringConfig.Input.Params.Alpha': found 1",
        ),
        (
            config({"Method": "gaussian", "Params": {"Mean": 1e39, "Var": 1, **UNIFORM}}),
            "Params.Mean': found 1e+39",
        ),
        (
            config({"Method": "gaussian", "Params": {"Mean": 1, "Var": -1, **UNIFORM}}),
            "Params.Var': found -1",
        ),
        (config({"Method": "percentage", "Params": {"PercentageDistribute": [[1, 0.5]]}}), "add up to 0.5"),
        (config({"Method": "percentage", "Params": {"PercentageDistribute": [[1]]}}), "expected pairs"),
        ({"Type": "string", "RequestCount": 1}, "'StringConfig' is missing"),
        (
            {"Type": "tokenid", "RequestCount": 1, "TokenIdConfig": {}},
            "'TokenIdConfig.RequestSize' is missing",
        ),
        (
            {"Type": "tokenid", "RequestCount": 1, "TokenIdConfig": {"RequestSize": 8, "PrefixLen": 9}},
            "'TokenIdConfig.PrefixLen': found 9, expected an integer from 0 to 8",
        ),
    ],
)
def test_a_wrong_config_names_the_key(given: dict[str, Any], message: str) -> None:
    with pytest.raises(AuthorError) as caught:
        read_synthetic_config(given, HERE)
    problem = caught.value.problems[0]
    assert problem.code == "BENCH-022"
    assert problem.where == HERE
    assert message in problem.what


def test_a_tokenizer_file_is_opened_where_it_is(tmp_path: Path) -> None:
    path = write_tokenizers(tmp_path)["pieces"]
    (item,) = SyntheticItemSource(SyntheticSpec(1, ConstantLength(12)), open_tokenizer(str(path)))
    assert item.n_prompt_tokens == 12
