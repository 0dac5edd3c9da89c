"""Operator mode: accounts and users by JWT.

Decides who is trusted and what follows from a claim; where claims come from is the resolvers'.
"""
