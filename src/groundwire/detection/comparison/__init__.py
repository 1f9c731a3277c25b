"""Compares a claim with its evidence, word by word."""
