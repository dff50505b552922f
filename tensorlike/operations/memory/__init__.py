"""The memory of tensors: writing in place, storages, devices, and predicates on the dtype."""
