from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.instructions.language import split_sentences

# What Punkt, trained on English, makes of each.
CASES = [
    ("", []),
    ("   \n", []),
    ("No mark at all", ["No mark at all"]),
    ("One. Two", ["One.", "Two"]),
    ("One. two", ["One.", "two"]),
    ("Hello!! Next", ["Hello!!", "Next"]),
    ("Hello?! next one", ["Hello?!", "next one"]),
    ("Title\n\nThe text.\n\nMore.", ["Title\n\nThe text.", "More."]),
    ("example.com is v1.5.", ["example.com is v1.5."]),
    # quotes and brackets
    ('"No!" he said.', ['"No!"', "he said."]),
    ('He said "No." Then he left.', ['He said "No."', "Then he left."]),
    ("(It was.) (So.) Then", ["(It was.)", "(So.)", "Then"]),
    ('It was.\n"', ['It was.\n"']),
    ("He said “No.” Then he left.", ["He said “No.” Then he left."]),
    # markdown: stars are not closing marks
    ("**Bold.** Next", ["**Bold.", "** Next"]),
    ("It is bold.**", ["It is bold.", "**"]),
    # abbreviations
    ("Mr. Smith went. He came.", ["Mr. Smith went.", "He came."]),
    ("The U.S. is large.", ["The U.S. is large."]),
    ("In the U.S. The rest", ["In the U.S.", "The rest"]),
    ("At 5 p.m. we left.", ["At 5 p.m. we left."]),
    ("Use e.g. this", ["Use e.g.", "this"]),
    ("a non-U.S. firm", ["a non-U.S. firm"]),
    # ellipses
    ("Wait... what", ["Wait... what"]),
    ("Wait... The end", ["Wait...", "The end"]),
    # initials and numbers
    ("W. Smith", ["W. Smith"]),
    ("A. The first", ["A.", "The first"]),
    ("a. the first", ["a. the first"]),
    ("1. First\n2. Second", ["1.", "First\n2.", "Second"]),
    ("1. first", ["1. first"]),
    ("1.) First", ["1.)", "First"]),
    ("1. हिन्दी", ["1.", "हिन्दी"]),
    ("It cost 3.50. So it was.", ["It cost 3.50.", "So it was."]),
    ("It is Harald's. So.", ["It is Harald's.", "So."]),
]


@pytest.mark.parametrize(("text", "sentences"), CASES)
def test_split(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


@given(st.text(alphabet="aB .?!\"')*\n1", max_size=40))
def test_nothing_is_lost_and_nothing_is_empty(text: str) -> None:
    sentences = split_sentences(text)
    assert re.sub(r"\s", "", "".join(sentences)) == re.sub(r"\s", "", text)
    assert all(sentence and sentence == sentence.strip() for sentence in sentences)


@given(
    st.lists(st.sampled_from(["It is so.", "Why not?", "Go on!"]), max_size=6),
    st.sampled_from([" ", "\n", "\n\n"]),
)
def test_plain_sentences_come_back(sentences: list[str], gap: str) -> None:
    assert split_sentences(gap.join(sentences)) == sentences
