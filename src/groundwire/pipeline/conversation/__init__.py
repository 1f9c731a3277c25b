"""From chat messages to what is checked: a request has sources and question, a response answers.

Everything here is a pure function over JSON data as :func:`json.loads` gives it: no network, no
model, no setting. A request is written by strangers, so nothing in it is trusted to have the shape
that it should have: what is no request at all raises
:class:`~groundwire.errors.InvalidConversationError` with the place, and what is a request but
holds things that cannot be read is read without them, which are counted.

One module a concept: ``content`` reads what a message may hold, ``messages`` who says it.
``dividing`` tells what asks, instructs and informs in running text, by ``structure``, ``labels``,
``roles``, ``material``, ``paragraph`` and ``wording``, and in a ``second_pass``; ``answered`` finds
examples, ``passages`` the passages of a block, and ``informing`` makes evidence of them.
``request`` orders all of it and applies the limits, ``answer_form`` reads which form the answer is
to have, ``response`` reads the answers, ``transcript`` divides a file with both.
``docs/conversations.md`` tells the conventions.
"""

from groundwire.pipeline.conversation.answer_form import AnswerForm, Schema, read_form
from groundwire.pipeline.conversation.content import Skipped
from groundwire.pipeline.conversation.request import (
    Conversation,
    OfferedSource,
    SourceOrigin,
    read_request,
)
from groundwire.pipeline.conversation.response import (
    Answer,
    AnswerKind,
    Said,
    ToolCall,
    answer_of,
    breaks_off,
    has_reasoning,
    read_response,
)
from groundwire.pipeline.conversation.transcript import divide_transcript

__all__ = [
    "Answer",
    "AnswerForm",
    "AnswerKind",
    "Conversation",
    "OfferedSource",
    "Said",
    "Schema",
    "Skipped",
    "SourceOrigin",
    "ToolCall",
    "answer_of",
    "breaks_off",
    "divide_transcript",
    "has_reasoning",
    "read_form",
    "read_request",
    "read_response",
]
