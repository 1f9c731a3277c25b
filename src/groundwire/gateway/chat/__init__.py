"""Reads chat requests, checks their answers, and sends the responses whole or as streams."""
