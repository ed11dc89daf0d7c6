"""Container images without an engine, see scripts/image."""
