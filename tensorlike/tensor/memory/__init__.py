"""The memory of tensors: its layouts, views of it, and how it is shared and used again."""
