"""The memory of tensors: views of it, and how it is used again."""
