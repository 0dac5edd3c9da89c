"""Clusters of real processes under faults: what was acknowledged, and what is there afterwards."""
