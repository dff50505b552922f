"""Discrete Fourier transforms, spectrograms and windows."""
