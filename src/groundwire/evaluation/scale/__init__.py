"""Many answers on many processors: worker processes, Ray, Spark, and results as Parquet."""
