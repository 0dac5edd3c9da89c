"""Groups of the log whose entries other servers have as well: Raft decides, the log keeps."""
