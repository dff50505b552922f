"""What tests of tensor-like types need: sample inputs of every operation."""
