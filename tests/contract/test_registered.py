"""Tokens, models and datasets, on every database."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import msgspec
import pytest
from sqlalchemy import text

from assay.core.errors import StoreError
from assay.core.roles import Bearer, Role
from assay.core.team import Provenance, RegisteredDataset, RegisteredModel
from assay.ledger.database import Database, open_database
from assay.ledger.datasets import Datasets
from assay.ledger.jobs import JobQueue, JobRequest
from assay.ledger.models import Models
from assay.ledger.tokens import Tokens


@pytest.fixture
def database(database_place: str) -> Iterator[Database]:
    opened = open_database(database_place)
    yield opened
    opened.close()


def code_of(caught: pytest.ExceptionInfo[StoreError]) -> str:
    return caught.value.problems[0].code


def test_a_token_is_whose_it_is_until_it_is_revoked(database: Database) -> None:
    tokens = Tokens(database)
    ann, ben = tokens.add("ann", Role.OWNER), tokens.add("ben", Role.READER)
    assert tokens.bearer(ann) == Bearer("ann", Role.OWNER)
    assert tokens.bearer(ben) == Bearer("ben", Role.READER)
    assert [(token.name, token.role) for token in tokens.every()] == [("ann", "owner"), ("ben", "reader")]
    tokens.revoke("ann")
    assert tokens.bearer(ann) is None
    assert tokens.bearer(ben) is not None
    with pytest.raises(StoreError) as caught:
        tokens.revoke("ann")
    assert code_of(caught) == "TEAM-021"


def test_another_secret_opens_nothing(database: Database) -> None:
    tokens = Tokens(database)
    token = tokens.add("ann", Role.OWNER)
    beginning, number, secret = token.split("_", 2)
    for wrong in (
        "",
        "assay",
        f"{beginning}_{number}_",
        f"{beginning}_{number}",
        f"{beginning}_{number}_{secret[:-1]}",
        f"{beginning}_{number}_{secret}x",
        f"{beginning}_00000000_{secret}",
        f"{beginning}_00000000_",
        f"other_{number}_{secret}",
        token + "\x00",
        token.upper(),
        "\udc80" + token,
        f"{beginning}_\x00_{secret}",
        f"{beginning}_\udc80_{secret}",
        f"{beginning}_é_{secret}",
    ):
        assert tokens.bearer(wrong) is None, wrong


def test_an_expired_token_opens_nothing(database: Database) -> None:
    tokens = Tokens(database)
    assert tokens.bearer(tokens.add("late", Role.READER, lasts_s=-1)) is None
    assert tokens.bearer(tokens.add("now", Role.READER, lasts_s=60)) is not None


def test_no_secret_is_in_the_database(database: Database) -> None:
    secret = Tokens(database).add("ann", Role.OWNER).split("_", 2)[2]
    with database.begin_read() as connection:
        stored = repr(connection.execute(text("SELECT * FROM assay_tokens")).all())
    assert secret not in stored


def test_two_tokens_of_one_name_are_rejected(database: Database) -> None:
    Tokens(database).add("ann", Role.OWNER)
    with pytest.raises(StoreError) as caught:
        Tokens(database).add("ann", Role.READER)
    assert code_of(caught) == "TEAM-020"


def test_a_model_is_kept_under_its_name(database: Database) -> None:
    models = Models(database)
    qwen = RegisteredModel(
        "qwen", "openai:qwen@http://h/v1", {"key_env": "KEY"}, "a model", registered_by="ann"
    )
    large = RegisteredModel("large", "hf:/large", {"num_gpus": "2"}, workers=4, on="ray:head:6379")
    for model in (qwen, large):
        models.add(model)
        kept = models.get(model.name)
        assert kept.registered_at > 0
        assert msgspec.structs.replace(kept, registered_at=0.0) == model
    with pytest.raises(StoreError) as caught:
        models.add(RegisteredModel("qwen", "mock"))
    assert code_of(caught) == "TEAM-030"
    with pytest.raises(StoreError) as caught:
        models.get("qwem")
    assert code_of(caught) == "TEAM-031"
    assert "did you mean 'qwen'?" in str(caught.value)
    for strange in ("qwen\x00", "", "' OR 1=1 --"):
        with pytest.raises(StoreError) as caught:
            models.get(strange)
        assert code_of(caught) == "TEAM-031"
    models.delete("qwen")
    assert [model.name for model in models.every()] == ["large"]
    with pytest.raises(StoreError):
        models.delete("qwen")


def dataset(name: str, provenance: Provenance = Provenance.FOLDER) -> RegisteredDataset:
    return RegisteredDataset(
        name,
        f"/data/{name}.csv",
        "table",
        provenance,
        "지식을 묻는다",
        ("knowledge", "한국어"),
        ("accuracy",),
        "accuracy",
        {"shots": 5},
        "ann",
    )


def test_datasets_of_folders_are_replaced_and_uploads_stay(database: Database) -> None:
    datasets = Datasets(database)
    datasets.add(dataset("mine", Provenance.UPLOAD))
    datasets.replace_folders([dataset("a"), dataset("b")])
    datasets.replace_folders([dataset("b"), dataset("c")])
    assert [one.name for one in datasets.every()] == ["b", "c", "mine"]
    kept = datasets.get("b")
    assert kept.added_at > 0
    assert (kept.abilities, kept.settings, kept.explanation) == (
        ("knowledge", "한국어"),
        {"shots": 5},
        "지식을 묻는다",
    )


def test_servers_that_start_together_register_the_same_folders(database: Database) -> None:
    failed: list[BaseException] = []

    def start() -> None:
        try:
            for _ in range(10):
                Datasets(database).replace_folders([dataset(f"d{at}") for at in range(10)])
        except StoreError as error:
            failed.append(error)

    servers = [threading.Thread(target=start) for _ in range(3)]
    for server in servers:
        server.start()
    for server in servers:
        server.join()
    assert not failed
    assert len(Datasets(database).every()) == 10


def test_of_two_who_delete_an_upload_one_is_reported_that_it_is_gone(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = Datasets(database)
    seen = datasets.add(dataset("mine", Provenance.UPLOAD))
    datasets.delete("mine")
    # The second one looked before the first one deleted.
    monkeypatch.setattr(datasets, "get", lambda name: seen)
    with pytest.raises(StoreError) as caught:
        datasets.delete("mine")
    assert code_of(caught) == "TEAM-041"


def test_a_dataset_is_kept_as_long_as_a_job_needs_it(database: Database) -> None:
    datasets, queue = Datasets(database), JobQueue(database)
    for name in ("mine", "yours"):
        datasets.add(RegisteredDataset(name, f"/data/{name}.csv", "table", Provenance.UPLOAD))

    def delete(name: str) -> None:
        datasets.delete(name, lambda connection: queue.require_unused_dataset(connection, name))

    numbers = [
        queue.submit(JobRequest("m", ("other", "mine"), {}, b"", "mine-m", "ann")).id for _ in range(7)
    ]
    running = queue.claim("w")
    assert running is not None
    with pytest.raises(StoreError) as caught:
        delete("mine")
    assert caught.value.problems[0].code == "TEAM-003"
    assert f"evaluation {', '.join(map(str, numbers[:5]))} and 2 more" in caught.value.problems[0].what
    assert datasets.get("mine").name == "mine"
    for number in numbers:
        queue.stop(number)
    with pytest.raises(StoreError) as caught:
        # The one that runs has not stopped yet.
        delete("mine")
    assert f"evaluation {numbers[0]}, which has not ended" in caught.value.problems[0].what
    queue.release(running)
    delete("mine")
    delete("yours")
    assert datasets.every() == []


def test_a_job_is_queued_only_while_its_datasets_are_there(database: Database) -> None:
    datasets, queue = Datasets(database), JobQueue(database)
    asked = JobRequest("m", ("mine",), {}, b"", "mine-m", "ann")
    looked_at = datasets.add(RegisteredDataset("mine", "/data/a/mine.csv", "table", Provenance.UPLOAD))

    def submit() -> None:
        queue.submit(asked, lambda connection: datasets.require(connection, [looked_at]))

    submit()
    queue.stop(1)
    datasets.delete("mine")
    with pytest.raises(StoreError, match="TEAM-041"):
        submit()
    # Another one has its name by now: it was not the one that was checked.
    datasets.add(RegisteredDataset("mine", "/data/b/mine.csv", "table", Provenance.UPLOAD))
    with pytest.raises(StoreError, match="TEAM-041"):
        submit()
    assert len(queue.jobs()) == 1


def test_only_uploads_are_deleted(database: Database) -> None:
    datasets = Datasets(database)
    datasets.add(dataset("mine", Provenance.UPLOAD))
    datasets.replace_folders([dataset("b")])
    assert datasets.delete("mine").place == "/data/mine.csv"
    for name, code in (("b", "TEAM-042"), ("mine", "TEAM-041")):
        with pytest.raises(StoreError) as caught:
            datasets.delete(name)
        assert code_of(caught) == code


def test_a_name_that_is_taken_is_rejected_and_nothing_is_lost(database: Database) -> None:
    datasets = Datasets(database)
    datasets.replace_folders([dataset("a")])
    datasets.add(dataset("mine", Provenance.UPLOAD))
    with pytest.raises(StoreError) as caught:
        datasets.replace_folders([dataset("b"), dataset("mine")])
    assert code_of(caught) == "TEAM-040"
    assert [one.name for one in datasets.every()] == ["a", "mine"]
