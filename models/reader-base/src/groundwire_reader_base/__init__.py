"""Weights of Groundwire's reader-base, and nothing else: groundwire finds and opens them."""
