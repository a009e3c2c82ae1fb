from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.core.ids import make_random
from assay.core.origin import Origin
from assay.core.sample import Sample
from assay.dialects.shared.fewshot import ShotPolicy, ShotPool, Shots, normalize_question
from assay.dialects.shared.sample_store import StoredSamples


def sample(number: int, question: str | None = None, *, answered: bool = True) -> Sample:
    text = question or f"question {number}"
    return Sample(f"id{number}", {"q": text}, Origin("x"), targets=("yes",) if answered else ())


def pool(samples: list[Sample], n: int = 3, policy: ShotPolicy = "random", seed: int = 0) -> ShotPool:
    return ShotPool(samples, n, policy=policy, seed=seed, task="t", question=lambda s: str(s.fields["q"]))


EVERY = [sample(number) for number in range(20)]


def test_a_draw_depends_on_the_sample_and_the_seed_alone() -> None:
    alone = pool(EVERY).shots(EVERY[7])
    shared = pool(EVERY)
    for other in reversed(EVERY):
        shared.shots(other)
    assert shared.shots(EVERY[7]) == alone
    assert pool(EVERY, seed=1).shots(EVERY[7]) != alone
    assert len({shot.id for shot in alone}) == 3


def test_a_sample_never_sees_itself_or_its_twin() -> None:
    twins = [*EVERY, sample(99, "Question   7")]
    for policy in ("random", "first"):
        for seed in range(30):
            shots = pool(twins, 19, policy, seed).shots(twins[7])
            assert {"id7", "id99"}.isdisjoint(shot.id for shot in shots)
            assert len(shots) == 19


def test_first_takes_the_first_that_are_not_the_sample() -> None:
    assert [shot.id for shot in pool(EVERY, 3, "first").shots(EVERY[1])] == ["id0", "id2", "id3"]
    assert [shot.id for shot in pool(EVERY, 3, "first").shots(EVERY[9])] == ["id0", "id1", "id2"]


def test_rows_without_an_answer_are_no_examples() -> None:
    mixed = [sample(0, answered=False), sample(1), sample(2)]
    assert len(pool(mixed)) == 2
    assert [shot.id for shot in pool(mixed, 2, "first").shots(sample(5))] == ["id1", "id2"]


def test_leaks_are_seen_through_white_space_and_case() -> None:
    assert pool(EVERY).has_same_question(sample(50, " QUESTION\n3"))
    assert not pool(EVERY).has_same_question(sample(50))


def test_only_samples_with_the_options_of_a_member_are_compared_by_question() -> None:
    read: list[str] = []

    def question(sample: Sample) -> str:
        read.append(sample.id)
        return "the same"

    def sample_of(number: int, options: str) -> Sample:
        return Sample(f"id{number}", {"o": options}, Origin("x"), targets=("yes",))

    members = [sample_of(0, "a b"), sample_of(1, "c d")]
    made = ShotPool(
        members, 2, policy="first", seed=0, task="t", question=question, options=lambda s: s.fields["o"]
    )
    assert [shot.id for shot in made.shots(sample_of(2, "A  b"))] == ["id1"]
    assert [shot.id for shot in made.shots(sample_of(3, "e f"))] == ["id0", "id1"]
    assert read == ["id0", "id1", "id2"]


def drawn_plainly(members: list[Sample], one: Sample, n: int, policy: ShotPolicy, seed: int) -> list[Sample]:
    """Return what a pool that holds every question as a text gives."""

    def asks(member: Sample) -> str:
        return normalize_question(str(member.fields["q"]))

    n_twins = sum(asks(member) == asks(one) for member in members)
    wanted = min(len(members), n + n_twins)
    order = range(len(members))
    chosen = (
        order[:wanted] if policy == "first" else make_random(seed, "t", one.id, "shots").sample(order, wanted)
    )
    return [members[at] for at in chosen if asks(members[at]) != asks(one)][:n] if n else []


@given(
    questions=st.lists(st.sampled_from(["a", "A", "b  c", "B C", "d", "e", "f"]), max_size=12),
    answered=st.integers(0, 2**12 - 1),
    n=st.integers(0, 5),
    policy=st.sampled_from(["first", "random"]),
    seed=st.integers(0, 3),
)
def test_examples_are_those_of_a_pool_that_holds_every_text(
    questions: list[str], answered: int, n: int, policy: ShotPolicy, seed: int
) -> None:
    rows = [sample(at, text, answered=bool(answered >> at & 1)) for at, text in enumerate(questions)]
    members = [row for row in rows if row.is_graded]
    made = ShotPool(
        iter(rows),
        n,
        policy=policy,
        seed=seed,
        task="t",
        question=lambda s: s.fields["q"],
        keep=StoredSamples,
    )
    assert list(made.members) == members
    for row in (*rows, sample(99, "g")):
        assert made.shots(row) == drawn_plainly(members, row, n, policy, seed)
        alike = [
            one
            for one in members
            if normalize_question(one.fields["q"]) == normalize_question(row.fields["q"])
        ]
        assert made.n_left(row) == len(members) - len(alike)
        assert made.has_same_question(row) == bool(alike)
    assert made.count_fewest_left() == min((made.n_left(member) for member in members), default=0)


def test_fewer_examples_are_those_nearest_to_the_question() -> None:
    every = Shots(EVERY[:5])
    assert every.at_most(None) == every.at_most(5) == every.at_most(9) == Shots(EVERY[:5], 0)
    assert every.at_most(2) == Shots(EVERY[3:5], 3)
    assert every.at_most(2, drops_last=True) == Shots(EVERY[:2], 3)
    assert every.at_most(0) == every.at_most(0, drops_last=True) == Shots([], 5)
    assert every.at_most(4).at_most(1) == every.at_most(1)
