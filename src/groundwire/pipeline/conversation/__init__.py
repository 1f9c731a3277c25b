"""Reads chat requests and responses: sources and question of a request, answers of a response.

The functions take JSON data as :func:`json.loads` returns it, and use no network and no model.
Requests come from strangers, so nothing is trusted to have the right shape. A body that is not a
request raises :class:`~groundwire.errors.InvalidConversationError`, which names the faulty place.
Other parts of a request that cannot be read are left out.

``messages`` reads the messages of a request, and ``content`` their contents. ``dividing`` divides
running text into parts that ask, instruct or inform, and ``informing`` makes evidence of the parts.
``request`` orders the evidence and applies the limits, ``answer_form`` reads the form of the answer
that a request asks for, and ``response`` reads the answers. ``docs/conversations.md`` describes the
conventions.
"""
