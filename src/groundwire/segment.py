r"""Where a text divides into claims: sentence-sized pieces, with offsets and citations.

One segmenter reads answers, which arrive in deltas, and sources, which arrive whole. It is
prefix-stable: a boundary is committed only when no later text can move it, so the claims of a
stream are those of the same text at rest, however it was cut. Each decision looks at most
``MAX_CLAIM_CHARS`` plus a fixed number of characters past the start of the open piece; a decision
that would look past the text received so far waits for more. Nothing committed is read again.

A text is claims and gaps. Gaps hold white space, characters that are not alphanumeric, and:

- the enumerator of a list item (``1.``, ``12)``, ``(3)``, ``a)``, ``a.``, ``iv)``) at the start of
  its line, one a line; the item is the claim;
- the info word of a fenced code block (``python`` after three backticks).

So every other alphanumeric character is part of exactly one claim. Bullets, heading and quote marks
and the outer pipes of table rows are gaps as well.

Why not a library: pysbd, sentencex and blingfire read a whole text, and each of them moves
boundaries it has already reported when more text arrives; see ``docs/segmentation.md``.
"""

import re
import unicodedata
from dataclasses import dataclass
from enum import Enum, auto

#: A claim has at most this many characters; a longer sentence is cut.
MAX_CLAIM_CHARS = 600

#: A citation that names more ids than this, as in ``[1-999999]``, is none.
MAX_CITED_IDS = 50

# How far past the longest possible claim a decision may look.
_LOOKAHEAD_CHARS = 500
# Longest word that can be an abbreviation, and how far a cut moves to keep a letter whole.
_WORD_CHARS = 24
_CLUSTER_CHARS = 16

_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"  # as in str.splitlines
_CLOSING = "\"'”’“‘»›)\\]}*_~¹²³⁴⁵⁶⁷⁸⁹⁰」』）】》〉"
_BULLETS = "-*+•‣◦▪●○·–—"
_STRONG = "。！？｡।॥؟۔"

_LINE_BREAK = re.compile(f"[{_BREAKS}]")
_EVENT = re.compile(f"[.!?…{_STRONG}`{_BREAKS}]")
_ALNUM = re.compile(r"[^\W_]")

# All of these match at any position, perhaps nothing, and are bounded.
_TERMINATORS = re.compile(f"[.!?…{_STRONG}]{{0,{MAX_CLAIM_CHARS}}}")
_CLOSERS = re.compile(f"[{_CLOSING}]{{0,40}}")
# After a CJK full stop these quotes open the next sentence: 。“
_CJK_CLOSERS = re.compile(f"(?:(?![“‘])[{_CLOSING}]){{0,40}}")
_AFTER_CITATION = re.compile(f"[.!?…{_STRONG}{_CLOSING}]{{0,40}}")
_BLANKS = re.compile(f"[^\\S{_BREAKS}]{{0,40}}")
# JSON data read as text has its line breaks written out: "It closed.\\nThe plant..."
_ESCAPE = r"\\[nrt](?![a-z])"
_SPACING = re.compile(f"(?:[^\\S{_BREAKS}]|{_ESCAPE}){{0,40}}")
_UNWORDED = re.compile(f"(?:{_ESCAPE}|(?![{_BREAKS}])[\\W_]){{0,12}}")
_WORD = re.compile(rf"[^\W_]{{0,{_WORD_CHARS}}}")
_KEY = re.compile(r"[\w.\-]{0,40}")
_HASHES = re.compile("#{0,7}")
_BACKTICKS = re.compile("`{0,41}")
_TILDES = re.compile("~{0,41}")
_INFO = re.compile(f"[^`{_BREAKS}]{{0,81}}")

_LAST_TOKEN = re.compile(r"[^\W_]+(?:\.[^\W_]+)*\Z")
_ITEM = re.compile(r"[a-z]\)|[ivx]{2,5}[.)]|[a-h]\.")
_ENUMERATOR = re.compile(
    r"(?:\((?:[0-9]{1,3}|[a-z]|[ivx]{2,5})\)|[0-9]{1,3}[.)]|[a-z]\)|[ivx]{2,5}[.)]|[a-h]\.(?!\s+[0-9]))"
    f"[^\\S{_BREAKS}]{{1,16}}(?=\\S)"
)
_ENUMERATOR_BEGUN = re.compile(f"\\(?[0-9a-z]{{0,5}}[.)]?[^\\S{_BREAKS}]{{0,16}}")

_CODE_CHARS = 200
_BRACKET = re.compile(r"(?<!\\)\[([A-Za-z0-9_^,; \t\u00a0\u202f–—\-]{1,200})\]")
_BRACKET_BEGUN = re.compile(r"(?<!\\)\[[A-Za-z0-9_^,; \t\u00a0\u202f–—\-]{0,200}")
_TARGET = re.compile(r"\([^()\s]{1,200}\)")
_TARGET_BEGUN = re.compile(r"\([^()\s]{0,200}")
_CITED = re.compile(
    r"\s*\^?([A-Za-z_]{0,16})([0-9]{1,6})(?:\s*[\-–—]\s*([A-Za-z_]{0,16})([0-9]{1,6}))?\s*"
)
_MARK_OR_BREAK = re.compile(f"`+|[{_BREAKS}]")
_MARK_OR_BRACKET = re.compile(r"`+|\[")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# In these tables a word with a capital is spelled so; one without may be capitalised.
#: A full stop after them never ends a sentence: a name or an example follows.
_NEVER_LAST = _words(
    "Dr Drs Mr Mrs Ms Mx Prof Rev Hon Gen Col Capt Cmdr Lt Sgt Maj Sen Rep Gov Pres Supt St Ste Mt "
    "Messrs Mme Mlle Mgr Hr Fr Dña Dipl Ing e.g i.e eg ie cf vs viz approx resp incl excl esp "
    "z.b d.h u.a o.ä bzw ggf vgl sog inkl evtl p.ej p.ex"
)
#: They are abbreviations only before a number: "No. 5", but "The answer is No. Then".
_BEFORE_NUMBER = _words(
    "No Nos Nr nr p pp Fig Figs fig figs Eq Eqs eq eqs Ch ch chap Sec sec Art art Vol vol para "
    "paras ver v s S Abs abs Tab tab ca c op bd kap pág págs núm n"
)
#: They may end a sentence: the next word decides.
_PERHAPS_LAST = _words(
    "Inc Ltd Co Corp Bros Jr Sr Sra Srta Esq etc al Ave Blvd Rd Dept Univ Assn est Ph.D M.Sc B.Sc "
    "Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun "
    "janv févr avr juil déc usw ff Cie Ltda"
)
#: Names that end in "!".
_SHOUTED = frozenset({"Yahoo", "Jeopardy", "Yum"})
#: Words that start sentences more often than they follow an abbreviation.
_STARTERS = _words(
    "A According After All Also Although An And Another Any As At Because Before Besides Between "
    "Both But By Consequently Despite Does During Each Even Every Finally First For From Further "
    "Furthermore He Hence Her Here His How However I If In Indeed Instead It Its Last Later Like "
    "Many Meanwhile More Moreover Most My Neither Nevertheless Next No Nobody None Nor Not Nothing "
    "Now Of On Once One Only Or Other Others Our Overall People Second She Similarly Since So Some "
    "Such That The Their Then There Therefore These They This Those Though Through Thus To Today "
    "Together Two Under Unlike Until Upon We Were What When Where Whether Which While Who Why With "
    "Without Yes Yet You Your "
    "Aber Auch Bei Das Dem Den Der Die Dies Diese Dieser Ein Eine Er Es Im Sie Wir Und "
    "Ce Ces Cette Dans Elle Elles En Il Ils Je La Le Les Mais Nous On Un Une "
    "El Ella Ellas Ellos Esta Este Esto Los Las Pero Se Su Una Y"
)
#: A line that ends with one of them is not the end of a statement.
_NEVER_AT_END = _words(
    "a an and are as at because been between by can could from has have his if into is its may nor "
    "of or our should than that the their this to was were when where which while whose will with "
    "would your"
)
_GERMAN_MONTHS = _words(
    "Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A reference to sources in a text, such as ``[S0]`` or ``[1, 3-5]``.

    Attributes:
        start: Where its bracket opens, in characters of the text.
        end: One past its end; the target of a Markdown link, ``[1](https://...)``, is part of it.
        ids: The ids it names, in order, each once, ranges written out: ``("1", "3", "4", "5")``.
            From 1 to ``MAX_CITED_IDS``.
    """

    start: int
    end: int
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One sentence-sized piece of a text.

    Attributes:
        start: First character, counted in the whole text; not white space.
        end: One past the last, which is not white space either. At most ``MAX_CLAIM_CHARS``
            after ``start``, with at least one alphanumeric character between.
        citations: What it cites, in reading order; none in fenced code.
    """

    start: int
    end: int
    citations: tuple[Citation, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(f"a segment needs 0 <= start < end, got {self.start} and {self.end}")


def segment(text: str) -> tuple[Segment, ...]:
    """Divide a whole text into claims.

    Returns:
        Segments in reading order, disjoint; empty if the text has no alphanumeric character.
    """
    segmenter = Segmenter()
    return (*segmenter.feed(text), *segmenter.finish())


def parse_citations(text: str, start: int = 0, end: int | None = None) -> tuple[Citation, ...]:
    """Find the citations in ``text[start:end]``; offsets count in ``text``.

    An id is up to 16 letters and 1 to 6 digits: ``S0``, ``1``, ``doc12``. Ids are separated by
    commas or semicolons; a range joins two with a hyphen or a dash (``[S1-S3]``, ``[1–3]``).
    Footnotes (``[^1]``) count, brackets in inline code do not.
    """
    return _parse_citations(text, start, len(text) if end is None else end, 0)


class _Kind(Enum):
    """What sort of line is being read."""

    TEXT = auto()
    HEADING = auto()  # sentences, but it never goes on in the next line
    ROW = auto()  # of a table: one claim
    CODE = auto()  # in a fence: one claim


class _Stop(Enum):
    """What the word before a full stop says about it."""

    FULL = auto()
    NEVER = auto()
    UNLESS_NUMBER = auto()
    UNLESS_MONTH = auto()
    UNLESS_INITIAL = auto()
    IF_STARTER = auto()


class _UndecidedError(Exception):
    """The decision depends on text that has not arrived."""


class Segmenter:
    """Divides a text into claims while it arrives.

    For every way of cutting a text into deltas, the segments that :meth:`feed` and :meth:`finish`
    return are, in sequence, those of :func:`segment`. Work is linear in the text, and at most
    about 1,100 characters are held back.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._is_final = False
        # The part of the text that is not decided yet. Positions below count in it.
        self._buffer = ""
        self._base = 0  # where the buffer begins in the text
        self._cursor = 0  # read up to here
        self._start: int | None = None  # of the open piece; None in a gap
        self._is_line_start = True
        self._kind = _Kind.TEXT
        self._fence = ""  # the mark that opened the code block we are in
        # What the decision at hand may look at, and whether text can still arrive there.
        self._end = 0
        self._may_grow = True

    @property
    def text(self) -> str:
        """All text fed so far. Joined when asked for: ask once in a while, not for each delta."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    def feed(self, delta: str) -> list[Segment]:
        """Take the next piece of text, and return the segments that no later text can change.

        Raises:
            RuntimeError: If :meth:`finish` has been called.
        """
        if self._is_final:
            raise RuntimeError("The text has been finished. Make a new Segmenter for another text.")
        self._parts.append(delta)
        self._buffer += delta
        return self._advance()

    def finish(self) -> list[Segment]:
        """End the text, and return the segments held back. A second call returns none."""
        self._is_final = True
        return self._advance()

    def _advance(self) -> list[Segment]:
        found = []
        try:
            while self._start is not None or self._cursor < len(self._buffer):
                self._look_from(self._cursor if self._start is None else self._start)
                if self._start is None:
                    self._read_gap()
                elif piece := self._read_piece(self._start):
                    found.append(piece)
        except _UndecidedError:
            pass
        self._forget()
        return found

    def _look_from(self, anchor: int) -> None:
        # Every decision sees the same characters however they arrived: those up to the horizon,
        # or all there are if the text ends before.
        horizon = anchor + MAX_CLAIM_CHARS + _LOOKAHEAD_CHARS
        self._end = min(len(self._buffer), horizon)
        self._may_grow = len(self._buffer) < horizon and not self._is_final

    def _forget(self) -> None:
        keep = self._cursor if self._start is None else self._start
        if keep:
            self._buffer = self._buffer[keep:]
            self._base += keep
            self._cursor -= keep
            self._start = None if self._start is None else 0

    # -- looking ahead

    def _at(self, position: int) -> str:
        """The character there; empty at the end of the text."""
        if position < self._end:
            return self._buffer[position]
        if self._may_grow:
            raise _UndecidedError
        return ""

    def _run(self, pattern: re.Pattern[str], position: int) -> int:
        """Where a run of characters ends, which may be where it begins."""
        match = pattern.match(self._buffer, position, self._end)
        stop = position if match is None else match.end()
        if stop >= self._end and self._may_grow:
            raise _UndecidedError
        return stop

    def _could_become(self, begun: re.Pattern[str], position: int) -> bool:
        return self._may_grow and bool(begun.fullmatch(self._buffer, position, self._end))

    # -- gaps and the beginnings of lines

    def _read_gap(self) -> None:
        char = self._buffer[self._cursor]
        if char in _BREAKS:
            self._is_line_start, self._kind = True, _Kind.TEXT
            self._cursor += 1
        elif char.isspace() or (char == "|" and self._kind is _Kind.ROW):
            self._cursor += 1
        elif self._is_line_start:
            self._read_marker(char)
        else:
            self._start = self._cursor

    def _read_marker(self, char: str) -> None:
        """Pass over one mark at the start of a line, or find that its text begins here."""
        position = self._cursor
        if char == ">":
            self._cursor += 1
        elif self._fence:
            self._read_fenced_line(char)
        elif char in "`~" and self._opens_fence(char):
            pass
        elif char == "#" and (stop := self._heading_end(position)):
            self._kind, self._cursor = _Kind.HEADING, stop
        elif char == "|":
            self._kind, self._is_line_start = _Kind.ROW, False
        elif char in _BULLETS and self._at(position + 1).isspace():
            self._cursor += 1
        else:
            self._cursor = self._enumerator_end(position)
            self._is_line_start = False

    def _heading_end(self, position: int) -> int | None:
        stop = self._run(_HASHES, position)
        return stop if stop - position <= 6 and self._at(stop).isspace() else None

    def _enumerator_end(self, position: int) -> int:
        # Something must follow on the line: "42." alone is an answer, not the 42nd item.
        if match := _ENUMERATOR.match(self._buffer, position, self._end):
            return match.end()
        if self._could_become(_ENUMERATOR_BEGUN, position):
            raise _UndecidedError
        return position

    def _opens_fence(self, char: str) -> bool:
        mark_end = self._run(_BACKTICKS if char == "`" else _TILDES, self._cursor)
        if not 3 <= mark_end - self._cursor <= 40:
            return False
        info_end = self._run(_INFO, mark_end)
        after = self._at(info_end)
        if info_end - mark_end > 80 or (after and after not in _BREAKS):
            return False  # ```code``` in a sentence
        self._fence = self._buffer[self._cursor : mark_end]
        if len(self._buffer[mark_end:info_end].split()) > 1:
            # More than the name of a language: nothing that may be a statement goes unread.
            self._kind, self._is_line_start, self._cursor = _Kind.CODE, False, mark_end
        else:
            self._cursor = info_end
        return True

    def _read_fenced_line(self, char: str) -> None:
        mark = self._fence[0]
        if char == mark:
            stop = self._run(_BACKTICKS if mark == "`" else _TILDES, self._cursor)
            after = self._at(stop)
            if len(self._fence) <= stop - self._cursor <= 40 and (not after or after.isspace()):
                self._fence, self._cursor = "", stop
                return
        self._kind, self._is_line_start = _Kind.CODE, False

    # -- pieces

    def _read_piece(self, start: int) -> Segment | None:
        """Read on to the next place where the open piece may end."""
        limit = start + MAX_CLAIM_CHARS
        events = _EVENT if self._kind in (_Kind.TEXT, _Kind.HEADING) else _LINE_BREAK
        event = events.search(self._buffer, self._cursor, min(len(self._buffer), limit))
        if event is None:
            if len(self._buffer) > limit:
                return self._close(start, self._cut(start, limit))
            if self._is_final:
                return self._close(start, len(self._buffer))
            self._cursor = len(self._buffer)
            raise _UndecidedError
        stop = self._stop_at(start, event.start())
        if stop is None:
            return None
        return self._close(start, stop if stop <= limit else self._cut(start, limit))

    def _stop_at(self, start: int, position: int) -> int | None:
        """Where the piece ends if it ends here; otherwise move the cursor past the event."""
        char = self._buffer[position]
        if char in _BREAKS:
            return self._line_stop(start, position)
        if char == "`":
            self._cursor = self._code_end(position)
            return None
        run_end = self._run(_TERMINATORS, position)
        stop = self._sentence_stop(start, position, run_end)
        if stop is None:
            self._cursor = run_end
        return stop

    def _cut(self, start: int, limit: int) -> int:
        """Where to cut a piece that is too long: the last white space, or else the limit."""
        words = self._buffer[start : limit + 1].rsplit(None, 1)
        if self._buffer[limit].isspace():
            return limit
        if len(words) == 2:
            return limit - len(words[1])
        for stop in range(limit, limit - _CLUSTER_CHARS, -1):
            if not _joins(self._buffer[stop - 1], self._buffer[stop]):
                return stop
        return limit

    def _close(self, start: int, stop: int) -> Segment | None:
        """End the open piece; nothing comes of it if it has no alphanumeric character."""
        self._start, self._cursor = None, stop
        if not _ALNUM.search(self._buffer, start, stop):
            return None
        piece = self._buffer[start:stop].rstrip()
        while self._kind is _Kind.ROW and piece.endswith("|"):
            piece = piece.rstrip("|").rstrip()
        end = start + len(piece)
        is_code = self._kind is _Kind.CODE
        return Segment(
            start=self._base + start,
            end=self._base + end,
            citations=() if is_code else _parse_citations(self._buffer, start, end, self._base),
        )

    # -- ends of lines

    def _line_stop(self, start: int, position: int) -> int | None:
        before = self._buffer[start:position].rstrip()
        if self._kind is not _Kind.TEXT or not _ALNUM.search(before):
            return position
        line = self._next_line(position)
        char = self._at(line)
        if char == "[" and (stop := self._citation_line_end(line)):
            self._cursor = stop
            return None
        if before[-1] not in ":：" and self._goes_on(before, line):
            self._cursor = line
            return None
        return position

    def _goes_on(self, before: str, line: int) -> bool:
        """Whether the next line clearly continues the one that ends with ``before``."""
        char = self._at(line)
        if char.islower():
            return not self._is_item(line)
        if not _is_unfinished(before):
            return False
        is_code = char == "`" and self._run(_BACKTICKS, line) - line < 3
        return (
            (is_code or char.isalnum() or (char != "" and char in "([“"))
            and not self._is_item(line)
            and self._enumerator_end(line) == line
        )

    def _next_line(self, position: int) -> int:
        """Where the next line's first visible character stands, or its end."""
        if self._buffer[position] == "\r" and self._at(position + 1) == "\n":
            position += 1
        return self._run(_BLANKS, position + 1)

    def _is_item(self, position: int) -> bool:
        """Whether a line that begins with a word is an item or a record: ``a) b``, ``a: b``."""
        stop = self._run(_KEY, position)
        char = self._at(stop)
        divider = self._at(self._run(_BLANKS, stop))
        if char in (":", "#", "\t") or divider in ("|", "="):
            return True
        if char == ",":
            return not self._at(stop + 1).isspace()
        if char == ")":
            stop += 1
            char = self._at(stop)
        return bool(_ITEM.fullmatch(self._buffer, position, stop)) and char.isspace()

    def _citation_line_end(self, position: int) -> int | None:
        """The end of the citations of a line that has nothing else, else ``None``."""
        stop = self._citations_end(position)
        if stop == position:
            return None
        after = self._at(self._run(_BLANKS, stop))
        return stop if not after or after in _BREAKS else None

    # -- inline code and citations

    def _code_end(self, position: int) -> int:
        """Past the code span that opens here, or past its backticks if nothing closes them."""
        stop = self._run(_BACKTICKS, position)
        span = _code_span_end(self._buffer, position, stop, self._end)
        if span is not None and (span < self._end or not self._may_grow):
            return span
        text_end = min(self._end, stop + _CODE_CHARS)
        has_break = _LINE_BREAK.search(self._buffer, stop, text_end)
        if self._may_grow and self._end < stop + _CODE_CHARS and not has_break:
            raise _UndecidedError
        return stop if span is None else span

    def _citations_end(self, position: int) -> int:
        """Past the citations that follow, each perhaps after a blank."""
        while True:
            bracket = self._run(_BLANKS, position)
            if self._at(bracket) != "[":
                return position
            stop = self._citation_end(bracket)
            if stop is None:
                return position
            position = stop

    def _citation_end(self, position: int) -> int | None:
        citation = _citation_at(self._buffer, position, self._end)
        if citation is None:
            if self._could_become(_BRACKET_BEGUN, position):
                raise _UndecidedError
            return None
        # The target of a link may still be on its way.
        if self._at(citation.end) == "(" and self._could_become(_TARGET_BEGUN, citation.end):
            raise _UndecidedError
        return citation.end

    # -- ends of sentences

    def _sentence_stop(self, start: int, position: int, run_end: int) -> int | None:
        """Where the sentence ends whose full stops are ``[position, run_end)``, if it does."""
        if not _ALNUM.search(self._buffer, start, position):
            return None
        if _has_strong(self._buffer[position:run_end]):
            return self._strong_stop(run_end)
        closed = self._run(_CLOSERS, run_end)
        stop = self._tail_end(closed)
        following = self._spacing_end(stop)
        char = self._at(following)
        if not char:
            return stop
        kind = self._stop_kind(start, position, run_end)
        if char in _BREAKS:
            # After an abbreviation the line decides, see _line_stop.
            return self._stop_over_line(following, stop) if kind is _Stop.FULL else None
        if following == stop:
            # No white space: a decimal, an address... or a citation and a missing space.
            return stop if stop > closed and char.isalnum() and not char.islower() else None
        return stop if self._starts_sentence(following, kind) else None

    def _spacing_end(self, position: int) -> int:
        stop = self._run(_SPACING, position)
        if self._at(stop) == "\\":
            self._at(stop + 1)  # may be half of an escape
        return stop

    def _strong_stop(self, run_end: int) -> int | None:
        closed = self._run(_CJK_CLOSERS, run_end)
        char = self._at(closed)
        if closed > run_end and char and char in "と、，,":
            return None  # 「行く。」と言った: the quotation is part of the sentence
        return self._tail_end(closed)

    def _tail_end(self, position: int) -> int:
        """Past the citations after a full stop, and what closes them."""
        while (stop := self._citations_end(position)) > position:
            position = self._run(_AFTER_CITATION, stop)
        return position

    def _stop_over_line(self, line_break: int, stop: int) -> int:
        line = self._next_line(line_break)
        if self._at(line) == "[" and (cited := self._citation_line_end(line)):
            return cited
        return stop

    def _stop_kind(self, start: int, position: int, run_end: int) -> _Stop:
        first = max(start, position - _WORD_CHARS - 1)
        before = self._buffer[first:position]
        mark = self._buffer[position:run_end]
        if mark == ".":
            return _stop_after(before, is_whole=first == start)
        if mark == "!" and _last_token(before) in _SHOUTED:
            return _Stop.IF_STARTER
        return _Stop.FULL

    def _starts_sentence(self, position: int, kind: _Stop) -> bool:
        """Whether what follows a full stop and white space is a new sentence."""
        first = self._run(_UNWORDED, position)
        char = self._at(first)
        if not char.isalnum():
            return True
        if char.islower():
            # iPhone and mRNA start sentences, other small letters do not.
            return kind is _Stop.FULL and self._at(first + 1).isupper()
        if kind in (_Stop.FULL, _Stop.NEVER):
            return kind is _Stop.FULL
        word_end = self._run(_WORD, first)
        word = self._buffer[first:word_end]
        is_initial = len(word) == 1 and self._at(word_end) == "."
        match kind:
            case _Stop.UNLESS_NUMBER:
                return not (word[0].isdigit() or set(word) <= set("IVXLC"))
            case _Stop.UNLESS_MONTH:
                return word not in _GERMAN_MONTHS
            case _Stop.UNLESS_INITIAL:
                return not is_initial
        return word in _STARTERS and not is_initial


def _stop_after(before: str, *, is_whole: bool) -> _Stop:
    """What the word at the end of ``before`` makes of the full stop that follows it.

    Args:
        before: The last characters of the sentence so far.
        is_whole: Whether they are all of the sentence.
    """
    token = _last_token(before)
    rest = before[: len(before) - len(token)]
    if not token or not (is_whole or rest):
        return _Stop.FULL  # no word, or a word longer than any abbreviation
    is_first = is_whole and not _ALNUM.search(rest)
    if token.isdecimal():
        return _stop_after_number(token, rest, is_first=is_first)
    if _is_unit(token, rest):
        return _Stop.FULL
    if len(token) == 1 and token.isupper():
        if is_first:
            return _Stop.NEVER  # "A. The first option"
        return _Stop.UNLESS_INITIAL if token == "I" else _Stop.IF_STARTER
    spellings = {token, token.lower()}
    if spellings & _NEVER_LAST:
        return _Stop.NEVER
    if spellings & _BEFORE_NUMBER:
        return _Stop.UNLESS_NUMBER
    if len(token) == 1 and token.isalpha():
        return _Stop.UNLESS_INITIAL  # "z. B." is one word; "solve for x." is not
    letters = token.split(".")
    is_dotted = len(letters) > 1 and all(len(part) == 1 and part.isalpha() for part in letters)
    return _Stop.IF_STARTER if is_dotted or spellings & _PERHAPS_LAST else _Stop.FULL


def _stop_after_number(number: str, rest: str, *, is_first: bool) -> _Stop:
    # "Steps: 1. Mix. 2. Bake." numbers its parts.
    if (is_first and len(number) <= 3) or (number == "1" and rest.rstrip().endswith(":")):
        return _Stop.NEVER
    return _Stop.UNLESS_MONTH if len(number) <= 2 else _Stop.FULL


def _is_unfinished(line: str) -> bool:
    word = line.rsplit(None, 1)[-1]
    return word in _NEVER_AT_END or (word[-1] == "," and word[-2:-1].isalpha())


def _is_unit(token: str, rest: str) -> bool:
    """Whether a single letter is a unit, as in ``350 °F`` and ``12 m``, and no initial."""
    if len(token) > 1:
        return False
    before = rest.rstrip()[-1:]
    return before in ("°", "˚", "º") or (
        before.isdigit() and (token.islower() or token in "FCKVWAJ")
    )


def _last_token(before: str) -> str:
    match = _LAST_TOKEN.search(before)
    return match.group() if match else ""


def _has_strong(marks: str) -> bool:
    return any(mark in _STRONG for mark in marks)


def _joins(before: str, after: str) -> bool:
    """Whether a cut between two characters would take a letter or an emoji apart."""
    return (
        unicodedata.category(after)[0] == "M"
        or "\u200d" in (before, after)
        or "\U0001f3fb" <= after <= "\U0001f3ff"
    )


def _code_span_end(text: str, start: int, stop: int, end: int) -> int | None:
    """Past the backticks that close those in ``[start, stop)``, on the same line and not far."""
    ticks = stop - start
    for match in _MARK_OR_BREAK.finditer(text, stop, min(end, stop + _CODE_CHARS)):
        if match.group()[0] != "`":
            return None
        if match.end() - match.start() == ticks:
            return match.end()
    return None


def _parse_citations(text: str, start: int, end: int, base: int) -> tuple[Citation, ...]:
    found = []
    position = start
    while match := _MARK_OR_BRACKET.search(text, position, end):
        position = match.end()
        if match.group() != "[":
            position = _code_span_end(text, match.start(), position, end) or position
        elif citation := _citation_at(text, match.start(), end, base):
            found.append(citation)
            position = citation.end - base
    return tuple(found)


def _citation_at(text: str, position: int, end: int, base: int = 0) -> Citation | None:
    """The citation whose bracket opens at ``position``; its offsets are moved by ``base``."""
    match = _BRACKET.match(text, position, end)
    ids = _cited_ids(match.group(1)) if match else ()
    if match is None or not ids:
        return None
    target = _TARGET.match(text, match.end(), end)
    return Citation(
        start=base + position, end=base + (target or match).end(), ids=tuple(dict.fromkeys(ids))
    )


def _cited_ids(inside: str) -> list[str]:
    """The ids between two brackets; none if it is no citation."""
    ids: list[str] = []
    for part in re.split("[,;]", inside):
        match = _CITED.fullmatch(part)
        if match is None:
            return []
        ids += _cited_range(*match.groups())
        if not ids or len(ids) > MAX_CITED_IDS:
            return []
    return ids


def _cited_range(prefix: str, low: str, last_prefix: str | None, high: str | None) -> list[str]:
    if high is None:
        return [prefix + low]
    count = int(high) - int(low) + 1
    if last_prefix not in ("", prefix) or not 1 <= count <= MAX_CITED_IDS:
        return []
    # Leading zeros are kept: [01-03] names 01, 02 and 03.
    return [f"{prefix}{number:0{len(low)}d}" for number in range(int(low), int(high) + 1)]
