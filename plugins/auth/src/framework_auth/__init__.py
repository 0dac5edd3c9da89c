"""Logins: which clients may use a server, by user and password or by token.

Knows what is configured and how to compare it; the core keeps out whom it does not accept.
"""
