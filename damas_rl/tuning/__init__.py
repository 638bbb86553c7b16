"""Makes a learned evaluation for alpha-beta: games of the program against itself, and what is fitted to them."""
