"""Corrects the parts of a prompt where only the whole prompt tells what a part does."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from groundwire.pipeline.conversation import wording
from groundwire.pipeline.conversation.answered import AnsweredQuestions
from groundwire.pipeline.conversation.parts import PromptPart
from groundwire.pipeline.conversation.roles import words_of
from groundwire.pipeline.conversation.wording import Wording

#: Statements without a mark, such as a label, are pasted material if they have at least this many
#: words in total.
_MIN_WORDS = 20
#: Unmarked statements after a question such as "Which port is it?" are pasted material if they have
#: at least this many words in total. A paragraph may be the user's question if its statements have
#: fewer words than this.
_FEW_WORDS = 8


def settle_asides(
    parts: list[PromptPart], asides: Sequence[int], section_start: int, *, first: bool
) -> None:
    """Exclude from the evidence the questions and orders at the end of a section that has ended.

    In the first section of evidence, a question or an order at the beginning is excluded too.

    ``parts`` has all parts so far, and is changed in place. ``asides`` has the indexes of the parts
    that may be questions or orders. ``first`` is true if there is no evidence before the section.
    """
    if not asides:
        return
    last = len(parts) - 1
    while last >= section_start and (last in asides or parts[last].does is not Wording.INFORMS):
        last -= 1
    is_first = first and min(asides) == section_start
    for i in asides:
        if i > last or (is_first and i == section_start):
            parts[i] = replace(parts[i], does=Wording.ASKS, is_marked=False)


def mark_what_is_pointed_at(parts: list[PromptPart], text: str) -> None:
    """Mark as evidence the parts before an instruction such as "Use the context above".

    Parts are marked back to the nearest question or part about the model's task. Nothing is changed
    if the prompt has marked evidence already.
    """
    if any(part.does is Wording.INFORMS and part.is_marked for part in parts):
        return
    for i, part in enumerate(parts):  # noqa: B007 - the loop below goes back from ``i``
        if part.does is Wording.INSTRUCTS and wording.points_back(text[part.start : part.end]):
            break
    else:
        return
    for before in reversed(range(i)):
        part = parts[before]
        if part.does is Wording.ASKS or wording.concerns_the_task(text[part.start : part.end]):
            break
        parts[before] = replace(part, does=Wording.INFORMS, is_marked=True)


def close_gaps(parts: list[PromptPart], text: str) -> None:
    """Join the parts of pasted material into one part of evidence.

    This is done only if the first or the last paragraph asks or orders something. The material is
    in the other paragraphs; questions and headings inside become part of the evidence. Nothing is
    changed if there is an order inside, or a part with attributes of a tag.

    The parts also stay as they are in two cases: if more than half of the material asks or
    instructs, or if the prompt has no marked evidence and too few words of statements. These two
    cases do not count if the first paragraph asks about the text "below" and the prompt does not
    end with a question.
    """
    first_end, last_start = text.find("\n\n"), text.rstrip().rfind("\n\n")
    if first_end < 0:
        return
    is_asked_first = _asks([part for part in parts if part.start < first_end], text)
    is_asked_last = (last_start > first_end or not is_asked_first) and _asks(
        [part for part in parts if part.start >= last_start], text
    )
    first = text[:first_end] if is_asked_first else ""
    is_question = text.rstrip().endswith(("?", "？"))
    points = not is_question and wording.asks_for_a_report(first) and "below" in words_of(first)
    informing = [part for part in parts if part.does is Wording.INFORMS]
    marked = [part for part in informing if part.is_marked]
    n_words = sum(len(text[part.start : part.end].split()) for part in informing)
    if points:
        marked = parts
    elif not marked and n_words >= (_FEW_WORDS if _looks_up(first) else _MIN_WORDS):
        marked = informing
    if not marked or not (is_asked_first or is_asked_last):
        return
    start = first_end if is_asked_first else marked[0].start
    end = last_start if is_asked_last else marked[-1].end
    inside = [part for part in parts if start <= part.start and part.end <= end]
    others = [part for part in inside if part.does is not Wording.INFORMS]
    is_asking = sum(part.end - part.start for part in others) * 2 > end - start and not points
    if not inside or is_asking or any(part.attributes for part in inside):
        return
    if any(wording.is_told(text[part.start : part.end]) for part in others):
        return
    start += len(text[start:end]) - len(text[start:end].lstrip())
    end = start + len(text[start:end].rstrip())
    whole = PromptPart(does=Wording.INFORMS, start=start, end=end, is_marked=True)
    i = parts.index(inside[0])
    parts[i : i + len(inside)] = [whole]


def _looks_up(text: str) -> bool:
    """Return whether a text is a question about pasted material, such as "Which port is it?"."""
    return text.rstrip().endswith(("?", "？")) and wording.asks_for_a_report(text)


def _asks(paragraph: list[PromptPart], text: str) -> bool:
    """Return whether a paragraph asks or orders, and states little."""
    stated = [text[part.start : part.end] for part in paragraph if part.does is Wording.INFORMS]
    return len(stated) < len(paragraph) and sum(len(each.split()) for each in stated) < _FEW_WORDS


def settle_drafts(parts: list[PromptPart], text: str, drafts: list[int], code: list[int]) -> None:
    """Decide whether pasted configurations and programs are evidence or part of the instructions.

    If the user asks for a change or for something new ("Fix this"), neither is evidence. Otherwise
    configurations are evidence, and programs are evidence if the user asks about them ("Explain
    this") or there is other evidence.

    ``parts`` is changed in place. ``drafts`` has the indexes of the parts that are configurations
    and records, ``code`` those of programs.
    """
    if not drafts and not code:
        return
    others = {*drafts, *code}
    said = [
        text[part.start : part.end]
        for i, part in enumerate(parts)
        if i not in others and not (part.does is Wording.INFORMS and part.is_marked)
    ]
    is_work = any(map(wording.asks_for_work, said))
    is_evidence = not is_work and (
        any(part.does is Wording.INFORMS and part.is_marked for part in parts)
        or any(map(wording.asks_for_a_report, said))
    )
    for wanted, does_inform in ((drafts, not is_work), (code, is_evidence)):
        for i in wanted:
            does = Wording.INFORMS if does_inform else Wording.INSTRUCTS
            parts[i] = replace(parts[i], does=does, is_marked=does_inform)


def without_examples(parts: list[PromptPart], pairs: AnsweredQuestions) -> Iterator[PromptPart]:
    """Yield the parts; examples (questions that the prompt answers itself) become instructions.

    Marked evidence stays evidence, unless the question has a context of its own.
    """
    for part in parts:
        pair = pairs.at(part.start)
        is_evidence = part.is_marked and part.does is Wording.INFORMS
        is_example = pair is not None and (pair.has_context or not is_evidence)
        yield replace(part, does=Wording.INSTRUCTS) if is_example else part
