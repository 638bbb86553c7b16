"""Searches over batches of games: alpha-beta, and Monte Carlo tree search with a network."""
