"""Which servers of a cluster get the replicas of a stream; not what becomes of them afterwards."""
