"""Random numbers written into tensors."""
