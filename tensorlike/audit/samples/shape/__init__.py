"""Sample inputs of the operations in `operations/shape/`."""
