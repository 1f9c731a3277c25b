"""A text divided, in the forms that tests compare, and any text at all."""

from hypothesis import strategies as st

from groundwire.text.segment import Segment, Segmenter, segment


def claims(text: str) -> list[str]:
    """What the claims say."""
    return [text[found.start : found.end] for found in segment(text)]


def streamed(text: str, size: int) -> list[Segment]:
    """The segments of a text that arrives in pieces of a size."""
    segmenter = Segmenter()
    found = []
    for start in range(0, len(text), size):
        found += segmenter.feed(text[start : start + size])
    return found + segmenter.finish()


ATOMS = [
    *["a", "B", "foo", "The", "Dr", "Inc", "U.S", "e.g", "I", "iPhone", "1", "12", "x" * 90],
    *[".", ". ", "..", "...", "!", "?", "…", "。", "」", '"', ")", "(", "*", "**", "と", "\\n"],
    *[" ", "  ", "\t", "\n", "\r\n", "\r", "\n\n", "\u2028", "\x85", "\x1c", "\x1f", "\u00a0"],
    *["`", "``", "```", "```py\n", "~~~", "|", "|---|", "# ", "- ", "* ", ">", ":", "1. ", "a) "],
    *["[", "]", "[S0]", "[1, 2]", "[1", "](", "[3](u)", "(u)", "^", "–", "key: ", "ii. "],
    *["\u0301", "\u200d", "🎉", "👩", "\U0001f3fd", "é", "ß", "ǆ", "م", "؟", "य", "。“", "\ufeff"],
]
texts = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(ATOMS), max_size=80).map("".join),
    st.lists(st.sampled_from(ATOMS[:40]), max_size=8).map(lambda atoms: "".join(atoms) * 40),
)
