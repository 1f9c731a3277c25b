"""Middleware of the gateway: trace ids, counting, keys, limits, readiness; also the probes."""
