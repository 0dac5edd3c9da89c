"""Client connections: CONNECT, authentication, what each client may do, INFO, closing."""
