"""The world an agent acts in: its vocabulary, its recorded responses and one trajectory's life in it."""
