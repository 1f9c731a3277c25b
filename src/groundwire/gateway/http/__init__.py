"""HTTP parts of the gateway: callers, headers, bodies, event streams, errors, refusals, pages."""
