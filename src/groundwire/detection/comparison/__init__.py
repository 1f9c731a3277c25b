"""How a claim and the text beside it differ, word by word."""
