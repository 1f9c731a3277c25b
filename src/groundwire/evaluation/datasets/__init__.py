"""Reads labelled answers and questions from tables of any format."""
