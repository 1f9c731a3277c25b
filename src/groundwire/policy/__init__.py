"""The gate, signals and decisions of a request, and the action that follows from a verdict."""
