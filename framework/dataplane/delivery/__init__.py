"""Delivery: a message goes to each link that it reaches, in turns that end."""
