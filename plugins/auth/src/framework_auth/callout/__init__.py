"""Auth callout: a service that decides on logins is asked, and its answers are checked.

Source: ADR-26.
"""
