"""Linear algebra: products, diagonals, decompositions, solving; `tensorlike.linalg` and its older names."""
