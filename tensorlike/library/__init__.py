"""Operators of the user's, in Python and in C++."""
