"""Protocol lines: read in place, and written."""
