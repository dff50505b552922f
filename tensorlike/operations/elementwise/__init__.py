"""Operations of one element at a time: arithmetic, comparison, logic, rounding, exponentials, angles."""
