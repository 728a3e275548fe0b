"""From measurements of a server to the constants of a step time."""
