"""Decides whether an answer is checked (gate, signals, decisions), and what is done afterwards."""
