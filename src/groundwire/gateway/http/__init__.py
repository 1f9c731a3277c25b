"""HTTP itself: bodies, codings, event streams, errors, refusals."""
