"""What models see, and what all that compute share; JAX and NumPy only."""
