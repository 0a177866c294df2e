"""A forecast service over HTTP that loses nothing, and an explorer in the browser. Needs the extra `serve`."""
