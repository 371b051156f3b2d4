"""Layer 4: the command line, set-up, tests, benches and templates for clusters. May import every other layer."""
