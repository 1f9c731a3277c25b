"""Review: labels that people give to recorded answers, their agreement, and their export."""
