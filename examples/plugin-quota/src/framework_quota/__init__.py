"""How much clients may publish."""
