"""Routes: the servers of one cluster find each other and form a full mesh.

Speaks nats-server's route protocol; carries no message itself, since that is the data plane's work.
"""
