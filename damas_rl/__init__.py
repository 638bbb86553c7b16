"""The agent: networks, search, self-play, learning, players and the `damas` command, on top of `damas_env`."""
