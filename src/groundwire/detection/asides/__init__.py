"""Finds asides: parts of an answer that claim nothing, such as headings, greetings and intros.

The answer is divided into segments: sentences, headings, list items and rows of tables. A segment
can be an aside only if its position or form allows it (a line with hashes, the first row of a
table), or if it fits a phrase of a closed list (``words.txt``). The words of the segment then
decide. In doubt the segment counts as a claim, because a fact must never pass as an aside. The
asides do not depend on where a stream cuts the answer into pieces.

``finder`` decides about the segments in order, and finds lists of sources and plain code.
``phrases`` recognises titles, questions and phrases such as greetings. ``shape`` reads the marks
and the position of a segment. ``known_words`` looks words up in the sources and the question.
``remarks`` says how sure a model must be that a sentence claims nothing.
"""

from groundwire.detection.asides.finder import AsideFinder

__all__ = ["AsideFinder"]
