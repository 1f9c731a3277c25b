"""Standard input and output, taken for the protocol alone.

One stray line of a library would end the connection. So the process gives its own output away
before anything heavy is imported: whatever is written there by Python, by native code or by a child
goes to standard error.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wire:
    """Descriptors of the client, that nothing else in this process knows."""

    incoming: int
    outgoing: int


@contextmanager
def claimed_wire() -> Iterator[Wire]:
    """Take standard input and output for the protocol, and leave others in their place."""
    sys.stdout.flush()
    wire = Wire(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    stdout, sys.stdout = sys.stdout, sys.stderr
    try:
        yield wire
    finally:
        sys.stdout = stdout
