"""Preprocessing: records → the parquet files that training reads."""
