"""HTTP in the gateway: callers, headers, bodies, event streams, errors, refusals and pages."""
