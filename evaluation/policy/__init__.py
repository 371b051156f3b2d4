"""Policies over an OpenAI-compatible endpoint: `raw` for models we serve ourselves, `native` for any other."""
