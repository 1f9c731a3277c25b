"""An answer is Markdown on a page, and each word keeps its offsets."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from groundwire.render import to_html
from groundwire.render.markdown import Piece, divide
from tests.fakes import FixedDetector

ANSWER = """\
# The *tower*

Built in **1950**, 500&nbsp;m \\*tall* in `Paris, France`
and [more](https://example.com) <b>here</b>.

3. one
   - two ~~three~~

> quoted

| Levels | a \\| b |
| --- | :-: |
| four | `x` |

```py
built = 1950
```
"""


def shown(answer: str) -> str:
    return "".join(each.shown if isinstance(each, Piece) else each for each in divide(answer))


def test_markdown_becomes_tags() -> None:
    assert shown(ANSWER) == (
        '<p class="heading level-1">The <em>tower</em></p>'
        "<p>Built in <strong>1950</strong>, 500\xa0m *tall* in <code>Paris, France</code><br>"
        "and [more](https://example.com) <b>here</b>.</p>"
        '<ol start="3"><li>one<ul><li>two <s>three</s></li></ul></li></ol>'
        "<blockquote><p>quoted</p></blockquote>"
        '<div class="wide" role="region" aria-label="Table of the answer" tabindex="0"><table>'
        "<thead><tr><th>Levels</th><th>a | b</th></tr></thead>"
        "<tbody><tr><td>four</td><td><code>x</code></td></tr></tbody></table></div>"
        "<pre><code>built = 1950</code></pre>"
    )


MARKUP = (
    *("*", "**", "_", "~~", "`", "```", "\\", "#", ">", "-", "1.", "|", "|--|--|"),
    *("&amp;", "<b>", "[x](y)", "word", "1950"),
)
SPACES = [" ", "\n", "\n\n", "```\n", "|--|--|\n", "    ", "\t", "\r\n", "\r", "\0"]
texts = st.lists(st.sampled_from([*MARKUP, *SPACES]), max_size=25).map("".join)


@given(texts | st.text(max_size=60))
@example(ANSWER)
@example("Height | 330 m\r\n--- | ---\r\nwidth | 1950")
def test_each_piece_knows_its_place_and_no_word_is_lost(answer: str) -> None:
    pieces = [each for each in divide(answer) if isinstance(each, Piece)]
    flat = answer.replace("\0", "\ufffd")
    position = 0
    for piece in pieces:
        assert position <= piece.start <= piece.end
        position = piece.end
        if len(piece.shown) == piece.end - piece.start:
            assert (
                piece.shown.replace("\0", "\ufffd").split() == flat[piece.start : position].split()
            )
    covered = {at for each in pieces for at in range(each.start, each.end)}
    # Numbers of a list and the language of a block of code are shown by tags, or not at all.
    for word in re.finditer(r"(?<![\d`])(word|1950)(?![\d.])", answer):
        follows_fence = re.search("```|~~~", answer[: word.start()].rpartition("\n")[2])
        assert follows_fence or set(range(*word.span())) <= covered


@pytest.mark.parametrize(
    ("words", "marked"),
    [
        ("1950", '<strong><mark class="unsupported" id="mark-1" data-lights="f1">1950<a'),
        ("four", '<td><mark class="unsupported" id="mark-1"'),
        (
            "Built in **1950**, 500",
            '<mark class="unsupported" data-lights="f1">1950</mark></strong>',
        ),
    ],
)
def test_marks_survive_markdown(words: str, marked: str) -> None:
    answer = "Built in **1950**, 500 m.\n\n| a | b |\n|---|---|\n| four | x |\n"
    page = to_html(FixedDetector(unsupported=[words]).detect(sources=["It is."], answer=answer))
    assert marked in page
    assert page.count('<a href="#finding-1">') == 1


def test_an_answer_whose_marked_words_have_no_place_is_shown_as_it_is() -> None:
    answer = "It is:\n\n```1950\nx\n```\n"
    detection = FixedDetector(unsupported=["1950"]).detect(sources=["It is."], answer=answer)
    page = to_html(detection)
    assert '<p class="plain">' in page
    assert 'id="mark-1"' in page
