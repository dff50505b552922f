"""Sample inputs of the operations in `tensor/ops/special/`."""
