"""PySpark worker processes: they poll Spark task types and run them in a Spark session."""
