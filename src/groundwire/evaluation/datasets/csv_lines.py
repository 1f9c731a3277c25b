"""The lines of a CSV: a quote that nobody closes costs its own row, and not those after it."""

import csv
from collections import deque
from collections.abc import Iterator

#: A field may have so many characters: contexts are long.
MAX_FIELD_CHARS = 50_000_000


class Rereadable:
    """Lines of a CSV, of which those of a record that is none can be read again.

    A quote that is not closed takes the rows after it into its record. So a record that is none
    ends with its first line, and the lines after that are read as rows of their own. What is read
    again is bounded, for the rows of a hostile file can each take all those after it.

    Attributes:
        first: The number of the line where the record begins.
        record: Its lines.
        broken: Where the last record began that was none, and did not begin within another.
        n_again: How many lines were read again.
    """

    #: How often, on average, a line may be read again.
    _MAX_AGAIN = 10
    _MAX_RECORD_CHARS = 4 * MAX_FIELD_CHARS

    def __init__(self, lines: Iterator[str]) -> None:
        self.first, self.record = 1, list[str]()
        self._lines, self._again = lines, deque[str]()
        self._n_chars = self._n_read = self._suspect_to = 0
        self.n_again = self.broken = 0

    def begin(self) -> None:
        """A record begins with the next line."""
        self.first += len(self.record)
        self.record, self._n_chars = [], 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._n_chars > self._MAX_RECORD_CHARS:
            raise csv.Error(f"it has more than {self._MAX_RECORD_CHARS:,} characters")
        line = self._again.popleft() if self._again else next(self._lines)
        self._n_read = max(self._n_read, self.first + len(self.record))
        self.record.append(line)
        self._n_chars += len(line)
        return line

    @property
    def last(self) -> int:
        """The number of the last line that the record took."""
        return self.first + len(self.record) - 1

    @property
    def is_doubtful(self) -> bool:
        """Whether the record may be the end of another: it began there, and a quote is left."""
        return self.first <= self._suspect_to and "".join(self.record).count('"') % 2 == 1

    def rewind(self) -> list[tuple[int, str]]:
        """End the record with its first line; gives those lines that will not be read again."""
        if self.first > self._suspect_to:
            self.broken = self.first
        self._suspect_to = max(self._suspect_to, self.last)
        rest = self.record[1:]
        if self.n_again + len(rest) > self._MAX_AGAIN * self._n_read:
            return list(enumerate(rest, self.first + 1))
        self.n_again += len(rest)
        del self.record[1:]
        self._again.extendleft(reversed(rest))
        return []
