"""FastAPI's part: every route that streams no tokens. One module per concern, each with a `router(backend)`."""
