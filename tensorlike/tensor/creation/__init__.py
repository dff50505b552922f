"""How tensors are made: from data, filled, drawn at random, and from the memory of other libraries."""
