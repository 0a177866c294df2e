"""What a user brings, checked once."""
