"""Elements by position: `x[...]`, masks, gathering and scattering, sorting and searching."""
