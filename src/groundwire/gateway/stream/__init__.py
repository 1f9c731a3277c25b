"""Responses that are released while they are checked."""
