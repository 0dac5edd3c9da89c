"""Links: their sockets, codings, addresses and clocks, and the loop that turns them."""
