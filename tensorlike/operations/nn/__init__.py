"""The functions that neural networks are made of: `tensorlike.nn.functional`."""
