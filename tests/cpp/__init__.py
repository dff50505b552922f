"""Extensions in C++, and the calls of them that are compared with PyTorch."""
