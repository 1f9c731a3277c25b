"""Middleware that every request passes: trace ids, counting, keys, limits, readiness."""
