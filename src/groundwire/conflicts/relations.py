"""Who did what to whom, and whose a value is."""

from collections.abc import Iterator, Sequence

from groundwire.conflicts.basis import Basis, names_value, states
from groundwire.conflicts.clauses import stem_of
from groundwire.conflicts.conflict import ConflictKind
from groundwire.conflicts.found import Found
from groundwire.conflicts.names import is_name, names_in, names_of_line, stems_of
from groundwire.explain.counterpart import same_kind
from groundwire.explain.held import Text
from groundwire.explain.subtype import is_verb
from groundwire.explain.words import Word, likeness
from groundwire.quantities import Match, Quantity
from groundwire.vocabulary import words

#: What both sides do to each other, and what joins names.
_MUTUAL = words("""
    met meet meets married marries marry faced faces played plays play joined merged tied drew and
    with between
""")
_BE = words("is are was were be been being")
_JOINING = words("and or of for with to")
#: Words between a name and its verb.
_SKIPPED = 3
_IN_PLACE = 0.4
_SAME_UNIT = 0.1
_STATED = frozenset({Match.EQUAL, Match.TIME_EQUAL, Match.DATE_EQUAL})
_PRONOUNS = words("he she it they his her its their this these")


def roles(claim: Text, lines: tuple[Text, ...], _: Basis) -> Iterator[Found]:
    """Two names on the other sides of a verb than in the evidence."""
    for index, verb in enumerate(claim.words):
        if not _may_act(verb):
            continue
        before, after = _sides(claim.words, index)
        if not before or not after:
            continue
        if any(_is_turned(line, verb, before, after, claim, index) for line in lines[:3]):
            ends = [word for word in claim.words if word.stem in before | after]
            yield Found(ends[0].start, ends[-1].end, ConflictKind.ROLES)
            return


def owners(claim: Text, lines: tuple[Text, ...], basis: Basis) -> Iterator[Found]:
    """A value that stands with another name, where the claim's name has another value."""
    names = names_in(claim, basis)
    for quantity in claim.quantities:
        name = next((name for name in names if name.end <= quantity.start), None)
        is_spelled = claim.text[quantity.start : quantity.end].isalpha()
        if name is None or is_spelled or basis.stated.match(quantity) not in _STATED:
            continue
        own = stems_of(claim, name)
        stated = names_value(basis, claim, quantity)
        if not own or not stated or not all(_is_anothers(line, own, claim) for line in stated):
            continue
        first = claim.words[next(i for i, w in enumerate(claim.words) if w.start >= name.start)]
        its = [line for line in basis.lines_with(first.text) if own <= line.content]
        if any(_has_other(line, claim, quantity) for line in its):
            yield Found(quantity.start, quantity.end, ConflictKind.ENTITY)


def _may_act(word: Word) -> bool:
    return is_verb(word) and word.is_content and word.lower not in _MUTUAL


def _sides(words: Sequence[Word], index: int) -> tuple[frozenset[str], frozenset[str]]:
    """The stems of the names right before and right after a verb."""
    return (
        _name_towards(words, range(index - 1, -1, -1)),
        _name_towards(words, range(index + 1, len(words))),
    )


def _name_towards(words: Sequence[Word], order: range) -> frozenset[str]:
    found: set[str] = set()
    for n, index in enumerate(order):
        word = words[index]
        if is_name(word):
            found.add(word.stem)
        elif found or n >= _SKIPPED or word.lower in _JOINING:
            break
    return frozenset(found)


def _is_turned(
    line: Text,
    verb: Word,
    before: frozenset[str],
    after: frozenset[str],
    claim: Text,
    index: int,
) -> bool:
    for other_index, other in enumerate(line.words):
        if not other.text[0].islower() or stem_of(other) != stem_of(verb):
            continue
        if _is_passive(line.words, other_index) != _is_passive(claim.words, index):
            continue
        theirs_before, theirs_after = _sides(line.words, other_index)
        is_crossed = before & theirs_after and after & theirs_before
        if is_crossed and not before & theirs_before and not after & theirs_after:
            return True
    return False


def _is_passive(words: Sequence[Word], index: int) -> bool:
    """Whether it is done by what follows: "was beaten by", and "tools used by" too."""
    after = [word.lower for word in words[index + 1 : index + 4]]
    has_be = any(word.lower in _BE for word in words[max(0, index - 2) : index])
    return after[:1] == ["by"] or (has_be and "by" in after)


def _is_anothers(line: Text, own: frozenset[str], claim: Text) -> bool:
    """Whether a line speaks of another name than the claim's, and not of that by a pronoun."""
    if own & line.content or line.lowers & _PRONOUNS:
        return False
    return any(stems_of(line, name) - claim.content for name in names_of_line(line)[:1])


def _has_other(line: Text, claim: Text, quantity: Quantity) -> bool:
    """Whether a line has another value of the kind in the place of a claim's."""
    context = claim.near(quantity.start, quantity.end)
    return any(
        likeness(context, line.near(other.start, other.end))
        + _SAME_UNIT * (quantity.unit is not None and quantity.unit == other.unit)
        >= _IN_PLACE
        for other in line.quantities
        if same_kind(quantity, claim.text, other, line.text) and not states(other, quantity)
    )
