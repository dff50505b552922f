"""The memory of tensors: writing in place, storages, devices, and what kind of numbers it holds."""
