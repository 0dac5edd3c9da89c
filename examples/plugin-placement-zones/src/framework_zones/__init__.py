"""Place replicas of streams in different zones, on the cheapest servers."""
