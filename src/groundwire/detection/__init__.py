"""The values of a detection, and the pure steps between evidence and flagged spans."""
