"""Spark beside servers: scripts, a shell, and jobs of a topology."""
