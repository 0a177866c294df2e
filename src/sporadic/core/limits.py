"""How far numbers may go before nothing can reckon with them."""

LARGEST = 1e150
"""A number that is read in: float64 still holds its square, and the sum of many such squares."""
VAST = f"infinite or beyond ±{LARGEST:g}"
FARTHEST = 1e18
"""What a model is shown, in standard deviations of the training data: float32 still holds its square."""
LATEST = 1e19
"""A time that is a number, and a length of time: about as far as whole numbers of 64 bits go."""
STRONGEST = 1e6
"""An option that multiplies in training, such as a learning rate."""
MOST_COUNTED = 1e15
"""What is counted: float64 still tells every whole number from the next."""
