"""Routes compressed by brotli."""
