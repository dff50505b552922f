"""scikit-learn and SciPy compute with a tensor-like type: `SCIPY_ARRAY_API=1 python examples/estimators.py`.

Both run on arrays that follow the array API standard, where that is switched on. They ask a tensor for its namespace,
`tensorlike.array_api`, whose functions ask the tensor's type. So a measurement that goes into an estimator comes out
of it with its origin, of which the estimator knows nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

import tensorlike as tl


class Measurement(tl.Tensor):
    """A tensor that says where its numbers come from; every result of it says so, too."""

    __tensor_attributes__ = ("origin",)
    origin: str


def measurement(data: np.ndarray, origin: str) -> Measurement:
    """Return an array as a measurement."""
    found = tl.tensor(data).as_subclass(Measurement)
    found.origin = origin
    return found


def estimates(make: Callable[[np.ndarray], object]) -> dict[str, object]:
    """Return what estimators and statistics make of one set of data, handed to them by `make`."""
    from scipy import special, stats
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import Ridge
    from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 4))
    target = features @ [1.0, -2.0, 0.5, 3.0] + 0.1 * rng.normal(size=60)
    classes = (target > 0).astype(np.int64)
    return {
        "Ridge": Ridge(solver="svd").fit(make(features), make(target)).predict(make(features)),
        "PCA": PCA(2, svd_solver="full").fit(make(features)).transform(make(features)),
        "LDA": LinearDiscriminantAnalysis().fit(make(features), make(classes)).predict_proba(make(features)),
        "StandardScaler": StandardScaler().fit_transform(make(features)),
        "euclidean_distances": euclidean_distances(make(features)),
        "cosine_similarity": cosine_similarity(make(features)),
        "zscore": stats.zscore(make(features)),
        "skew": stats.skew(make(features)),
        "logsumexp": special.logsumexp(make(features), axis=1),
    }


def main() -> None:
    """Print the type and origin of each estimate, and how far it is from NumPy's."""
    if os.environ.get("SCIPY_ARRAY_API") != "1":
        raise SystemExit("SciPy takes arrays of others where it is imported with SCIPY_ARRAY_API=1 in the environment")
    import sklearn

    expected = estimates(np.asarray)
    with sklearn.config_context(array_api_dispatch=True):
        found = estimates(lambda data: measurement(data, "station 7"))
    for name, estimate in found.items():
        far = np.abs(np.asarray(estimate) - np.asarray(expected[name])).max()
        print(f"{name}: {type(estimate).__name__} of {getattr(estimate, 'origin', None)}, within {far:.0e} of NumPy")


if __name__ == "__main__":
    main()
