from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from assay.results.pages.markup import Markup, escape_invisible, tag


class Read(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text() | st.text(alphabet="<>&\"'/=! scriptonload-"))
def test_any_text_is_read_back_as_text(text: str) -> None:
    read = Read(tag("p", text, title=text))
    assert read.tags == [("p", {"title": escape_invisible(text)})]
    assert read.text == escape_invisible(text)


@given(st.text(alphabet=st.characters(categories=["Cs", "Cc", "Cf", "L"])))
def test_what_is_written_can_be_stored_and_turns_no_line_around(text: str) -> None:
    written = tag("p", text)
    written.encode()
    assert not set(written) & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u0000\ud800")


def test_signs_that_join_letters_stay() -> None:
    assert escape_invisible("می‌خواهم 👩‍🔬 한국어") == "می‌خواهم 👩‍🔬 한국어"


def test_an_override_is_shown_as_its_number() -> None:
    assert escape_invisible("a\u202egpj.exe") == "a⟨U+202E⟩gpj.exe"
    assert escape_invisible("\u200f!\u061c?\u00ad\u200b") == "⟨U+200F⟩!⟨U+061C⟩?⟨U+00AD⟩⟨U+200B⟩"
    # A text in tags, which nobody sees and a model reads.
    assert escape_invisible("hi\U000e0041\U000e007f") == "hi⟨U+E0041⟩⟨U+E007F⟩"


def test_markup_is_not_escaped_again() -> None:
    assert tag("p", tag("b", "<"), "&") == "<p><b>&lt;</b>&amp;</p>"
    assert isinstance(tag("p"), Markup)


def test_attributes() -> None:
    assert tag("p", class_="a", data_page=1.5, id=None) == '<p class="a" data-page="1.5"></p>'
