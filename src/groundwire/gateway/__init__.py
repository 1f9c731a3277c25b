"""The gateway: an OpenAI-compatible proxy that checks answers before users see them.

It needs the ``gateway`` extra.
"""
