"""Passages of a block of evidence, with their ids and titles."""

import pytest

from groundwire.pipeline.conversation.passages import passages_of

INSIDE = "<source>guide.pdf</source>\n<document_content>\nIt is tall.\n</document_content>\n"
DOCUMENT = f'<document index="1">\n{INSIDE}</document>'


@pytest.mark.parametrize(
    ("inside", "attributes"),
    [(DOCUMENT, ""), (f"{DOCUMENT}\n</documents>", ""), (INSIDE, 'index="1"')],
    ids=["in a block", "before a closing tag", "alone"],
)
def test_a_document_has_its_index_and_its_source(inside: str, attributes: str) -> None:
    (piece,) = passages_of(inside, "here", attributes)
    assert (piece.id, piece.title, piece.text) == ("1", "guide.pdf", "It is tall.")


def test_sources_that_are_passages_stay_passages() -> None:
    found = passages_of("<source>It is tall.</source>\n<source>It is old.</source>", "here", "")
    assert [each.text for each in found] == ["It is tall.", "It is old."]
