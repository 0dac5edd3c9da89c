"""Operator mode: accounts that operators vouch for, and users that accounts vouch for.

Decides who is trusted and what follows from a claim; where claims come from is the resolvers'.
"""
