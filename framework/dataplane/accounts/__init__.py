"""Accounts: their interest, permissions, mappings and imports."""
