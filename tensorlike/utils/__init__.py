"""Tools around tensors and modules."""
