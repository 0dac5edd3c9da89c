"""What clients of a server publish, as tables: into streams or Parquet files."""
