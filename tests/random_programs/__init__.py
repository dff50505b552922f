"""Random programs, run statement by statement in tensorlike and in PyTorch, and compared after each statement."""
