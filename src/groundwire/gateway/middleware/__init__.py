"""The layers that every request passes: keys, limits, counting, readiness."""
