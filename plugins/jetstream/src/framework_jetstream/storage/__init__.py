"""Storage kinds: who keeps finished segments of streams elsewhere than in the server's folder."""
