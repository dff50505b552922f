"""How an operation is declared and called: `declare` first, then the forms that it gets, and what a call does."""
