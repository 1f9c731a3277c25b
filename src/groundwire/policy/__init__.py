"""What follows from a request and a verdict: the gate, signals, decisions, actions."""
