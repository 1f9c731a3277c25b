"""HTTP parts of the gateway: bodies, content codings, event streams, errors, refusals."""
