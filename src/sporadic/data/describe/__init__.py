"""What is to be said of data before anything is learned from them."""
