"""Bytes and tables on disk, and bars on a screen; it knows nothing of the domain."""
