"""Other shapes for the same elements: reshaping, expanding, joining, splitting, rearranging."""
