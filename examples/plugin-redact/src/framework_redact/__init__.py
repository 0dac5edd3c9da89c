"""Take what nobody should read out of messages."""
