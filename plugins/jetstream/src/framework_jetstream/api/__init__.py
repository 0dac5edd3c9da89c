"""The JetStream API: its records, requests, answers and errors."""
