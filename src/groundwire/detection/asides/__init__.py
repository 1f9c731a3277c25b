"""Finds asides: parts of an answer that claim nothing, such as headings, greetings and intros.

An aside is found by its place (a line with hashes, the first row of a table) or by a closed list of
phrases (``words.txt``), and by its words. A fact must not hide in one: a heading with a number, a
negation, a verb, or a word that neither the sources nor the question have, is a claim, and so is a
heading that nothing follows. Finders read answers as they arrive: what an aside is does not depend
on how the answer was cut.

``finder`` keeps the state of an answer and has the lists of sources and code, ``phrases`` reads
titles, intros and remarks, ``shape`` the place of a line, ``known_words`` searches the sources.
"""

from groundwire.detection.asides.finder import AsideFinder

__all__ = ["AsideFinder"]
