"""The gateway: an OpenAI-compatible proxy that checks the answers of language models.

It needs the ``gateway`` extra.
"""
