"""The meta group at work: founded, its machine fed, and its effects carried out."""
