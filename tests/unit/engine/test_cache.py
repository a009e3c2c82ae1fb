from __future__ import annotations

from pathlib import Path

from assay.core.model import ModelIdentity
from assay.core.response import Failure, LabelProbs
from assay.engine.cache import SqliteCache

ONE = ModelIdentity("hf", "one", "aaaa")
OTHER = ModelIdentity("hf", "one", "bbbb")
ANSWER = LabelProbs((0.5, 0.25), 0.75, 10)


def test_an_answer_is_found_again_by_the_same_model_only(tmp_path: Path) -> None:
    cache = SqliteCache(tmp_path, ONE)
    cache.put("k", ANSWER)
    cache.close()
    again, other = SqliteCache(tmp_path, ONE), SqliteCache(tmp_path, OTHER)
    assert again.get("k") == ANSWER
    assert again.get("j") is None
    assert other.get("k") is None
    again.close()
    other.close()


def test_failures_are_not_kept(tmp_path: Path) -> None:
    cache = SqliteCache(tmp_path, ONE)
    cache.put("k", Failure("timeout", "slow"))
    cache.close()
    again = SqliteCache(tmp_path, ONE)
    assert again.get("k") is None
    again.close()


def test_a_fresh_run_keeps_answers_but_reads_none(tmp_path: Path) -> None:
    for is_read in (False, True):
        cache = SqliteCache(tmp_path, ONE, is_read=is_read)
        assert cache.get("k") == (ANSWER if is_read else None)
        cache.put("k", ANSWER)
        cache.close()
