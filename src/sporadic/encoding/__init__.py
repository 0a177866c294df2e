"""From a panel to the arrays that a model sees, and from what it says back to the user's units."""
