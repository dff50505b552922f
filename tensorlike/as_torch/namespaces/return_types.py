"""The types of named results of operations, such as `tensorlike.return_types.sort`.

Each is a tuple with fields: `tensorlike.sort(x)` is `(values, indices)` and has `.values` and `.indices`. Like a tuple
it is made of one iterable: `type(result)(change(item) for item in result)`.

Same as PyTorch's module of that name; calls with `out=` return the same types.
"""

from __future__ import annotations

from tensorlike._above import explain_absent_names
from tensorlike.tensor.declarations.named_results import return_type as _return_type

explain_absent_names(__name__)

#: The fields of each, in order.
FIELDS: dict[str, tuple[str, ...]] = {
    "aminmax": ("min", "max"),
    "cummax": ("values", "indices"),
    "cummin": ("values", "indices"),
    "frexp": ("mantissa", "exponent"),
    "geqrf": ("a", "tau"),
    "histogram": ("hist", "bin_edges"),
    "histogramdd": ("hist", "bin_edges"),
    "kthvalue": ("values", "indices"),
    "linalg_cholesky_ex": ("L", "info"),
    "linalg_eig": ("eigenvalues", "eigenvectors"),
    "linalg_eigh": ("eigenvalues", "eigenvectors"),
    "linalg_inv_ex": ("inverse", "info"),
    "linalg_ldl_factor": ("LD", "pivots"),
    "linalg_ldl_factor_ex": ("LD", "pivots", "info"),
    "linalg_lstsq": ("solution", "residuals", "rank", "singular_values"),
    "linalg_lu": ("P", "L", "U"),
    "linalg_lu_factor": ("LU", "pivots"),
    "linalg_lu_factor_ex": ("LU", "pivots", "info"),
    "linalg_qr": ("Q", "R"),
    "linalg_slogdet": ("sign", "logabsdet"),
    "linalg_solve_ex": ("result", "info"),
    "linalg_svd": ("U", "S", "Vh"),
    "lu_unpack": ("P", "L", "U"),
    "max": ("values", "indices"),
    "median": ("values", "indices"),
    "min": ("values", "indices"),
    "mode": ("values", "indices"),
    "nanmedian": ("values", "indices"),
    "qr": ("Q", "R"),
    "slogdet": ("sign", "logabsdet"),
    "sort": ("values", "indices"),
    "svd": ("U", "S", "V"),
    "topk": ("values", "indices"),
    "triangular_solve": ("solution", "cloned_coefficient"),
}

#: Fields that hold a tuple of tensors; the others hold one tensor.
TUPLES: dict[str, tuple[str, ...]] = {"histogramdd": ("bin_edges",)}

__all__ = list(FIELDS)

for _name, _fields in FIELDS.items():
    globals()[_name] = _return_type(_name, _fields)

#: The types, in order.
all_return_types: list[type] = [globals()[_name] for _name in FIELDS]
