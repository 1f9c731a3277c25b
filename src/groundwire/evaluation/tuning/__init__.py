"""Choice of a threshold by labelled answers, with a guarantee or with an interval."""
