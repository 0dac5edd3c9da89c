"""Refuse messages that do not fit a JSON schema."""
