"""Authentication: users, accounts, operator mode, auth callout.

Knows what is configured and how to compare it; the core keeps out whom it does not accept.
"""
