"""Which threshold to run: chosen on labelled answers, with a guarantee or with an interval."""
