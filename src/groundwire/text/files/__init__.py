"""Reads and writes files of rows, so that a run that was cut short can be continued."""
