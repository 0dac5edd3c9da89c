"""Auth callout: a service decides on logins. Source: ADR-26.

Source: ADR-26.
"""
