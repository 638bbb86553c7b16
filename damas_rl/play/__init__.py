"""Play against a person: in the terminal."""
