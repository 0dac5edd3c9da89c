"""Hook implementations of the JetStream plugin: none yet, while its rooms are built."""
