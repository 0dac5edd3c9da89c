"""Counters of a server for Prometheus."""
