"""Gateways: clusters find each other and form a supercluster.

Speaks nats-server's gateway protocol; carries no message itself, since that is the data plane's
work.
"""
