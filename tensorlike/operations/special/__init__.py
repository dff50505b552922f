"""Special functions: gamma and error functions, Bessel functions, polynomials, probabilities."""
