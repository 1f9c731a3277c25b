"""Reads chat requests and responses: sources and question of a request, answers of a response.

The functions take JSON data as :func:`json.loads` returns it, and use no network and no model.
Requests come from strangers, so nothing is trusted to have the right shape. A body that is not a
request raises :class:`~groundwire.errors.InvalidConversationError`, which names the faulty place.
Parts of a request that cannot be read are left out and counted.

``messages`` reads the messages of a request, and ``content`` their contents. ``dividing`` divides
running text into parts that ask, instruct or inform, by ``structure``, ``labels``, ``roles``,
``material``, ``paragraph`` and ``wording``, and corrects them in a ``second_pass``; ``answered``
finds examples, ``passages`` the passages of a block, and ``informing`` makes evidence of the parts.
``request`` orders the evidence and applies the limits, ``answer_form`` reads the form of the answer
that a request asks for, ``response`` reads the answers, and ``transcript`` divides JSON data with
both sides of a conversation. ``docs/conversations.md`` describes the conventions.
"""
