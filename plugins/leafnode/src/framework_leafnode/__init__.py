"""Leaf nodes: servers that join a hub by one account each.

Speaks nats-server's leaf node protocol in both roles; carries no message itself, since that is the
data plane's work.
"""
