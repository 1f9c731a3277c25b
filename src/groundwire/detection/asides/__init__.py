"""Finds asides: parts of an answer that claim nothing, such as headings, greetings and intros.

A segment may be an aside because of its place (a line with hashes, the first row of a table), or
because it fits a closed list of phrases (``words.txt``); then its words decide. In doubt it is a
claim, because no fact must pass as an aside. A finder finds the same asides however a stream cuts
the answer into pieces.

``finder`` keeps the state of an answer, and finds lists of sources and plain code; ``phrases``
reads titles, intros and remarks; ``shape`` reads the marks and the place of a segment;
``known_words`` searches the sources. ``remarks`` says how sure a model must be that a text is a
remark.
"""

from groundwire.detection.asides.finder import AsideFinder

__all__ = ["AsideFinder"]
