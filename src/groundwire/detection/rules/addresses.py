"""The rule for web and mail addresses that the evidence lacks."""

import re
from collections.abc import Iterator
from itertools import islice

from groundwire.detection.comparison.aligned_span import ComparedText, Lines
from groundwire.detection.rules.basis import MAX_PLACES, Basis
from groundwire.detection.rules.conflict import ConflictKind, RuleFinding

_ADDRESS = re.compile(
    r"\bhttps?://[^\s<>\"“”`\])]{1,400}|\b[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,5}"
)


def addresses(claim: ComparedText, lines: Lines, basis: Basis) -> Iterator[RuleFinding]:
    """Find web and mail addresses that the evidence lacks.

    A web address is found only if it begins with ``http://`` or ``https://``.
    """
    for match in islice(_ADDRESS.finditer(claim.text), MAX_PLACES):
        written = match[0].rstrip(".,;:!?'\"*_")
        if not basis.mentions(re.sub("^https?://", "", written).rstrip("/")):
            yield RuleFinding(match.start(), match.start() + len(written), ConflictKind.REFERENCE)
