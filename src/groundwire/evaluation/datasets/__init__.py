"""Reads labelled answers and questions from tables in JSON, CSV, TSV or Parquet."""
