"""The input and the result of a check, and the pure steps between them: evidence, rules, spans."""
