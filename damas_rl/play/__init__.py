"""Play against a person: in the terminal and in a browser."""
