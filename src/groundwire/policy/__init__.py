"""Decides whether an answer is checked (gate, signals, decisions), and which action follows."""
