"""Finds asides: parts of an answer that claim nothing, such as headings, greetings and intros.

A segment may be an aside by its place (a line with hashes, the first row of a table) or by a closed
list of phrases (``words.txt``); its words decide. In doubt it is a claim, because no fact must pass
as an aside. A finder finds the same asides however the answer is cut into deltas.

``finder`` keeps the state of an answer, and finds lists of sources and plain code; ``phrases``
reads titles, intros and remarks; ``shape`` reads the marks and the place of a segment;
``known_words`` searches the sources. ``remarks`` says how sure a model must be of a remark.
"""

from groundwire.detection.asides.finder import AsideFinder

__all__ = ["AsideFinder"]
