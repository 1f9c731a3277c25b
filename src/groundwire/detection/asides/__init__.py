"""Finds asides: parts of an answer that claim nothing, such as headings, greetings and intros.

Only a segment in a certain place (a line with hashes, the first row of a table), or one that fits a
closed list of phrases (``words.txt``), can be an aside. The words of the segment then decide. In
doubt the segment counts as a claim, because a fact must never pass as an aside. A finder finds the
same asides however a stream cuts the answer into pieces.

``finder`` keeps the state of an answer, and finds lists of sources and plain code; ``phrases``
reads titles, intros and remarks; ``shape`` reads the marks and the place of a segment;
``known_words`` searches the sources. ``remarks`` says how sure a model must be that a text is a
remark.
"""

from groundwire.detection.asides.finder import AsideFinder

__all__ = ["AsideFinder"]
