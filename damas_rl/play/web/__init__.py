"""The web application of ``damas web``: games on a local server, drawn and played in a browser."""
