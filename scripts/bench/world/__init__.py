"""How fast the world is: in process, over HTTP, opened, imported, built; and what it does when it is full."""
