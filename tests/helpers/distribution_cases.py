"""Parameters of every distribution, for the tests with and without PyTorch.

A case is made in either library: `case.make(library, dtype)`. Its parameters are nested lists, which become tensors,
and other values, which are handed on. Functions get the library's `distributions` and a function that makes tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["CASES", "Case"]


class Case(NamedTuple):
    name: str
    parameters: dict[str, Any] = {}
    #: Makes the distribution, where its parameters are others than tensors and numbers.
    build: Callable[..., Any] | None = None
    #: Values for log_prob, cdf and the like.
    values: Any = None

    @property
    def label(self) -> str:
        shown = ",".join(key for key in self.parameters)
        return f"{self.name}-{shown}" if shown else self.name

    def tensors(self, library: Any, dtype: str, grad: bool = False) -> dict[str, Any]:
        """Return the parameters, those in lists as tensors."""
        made = {}
        for key, value in self.parameters.items():
            if isinstance(value, list):
                value = library.tensor(value, dtype=getattr(library, dtype), requires_grad=grad)
            made[key] = value
        return made

    def make(self, library: Any, dtype: str = "float64", parameters: Any = None, **options: Any) -> Any:
        """Return the distribution."""
        if parameters is None:
            parameters = self.tensors(library, dtype)
        if self.build is not None:
            return self.build(library.distributions, **parameters, **options)
        return getattr(library.distributions, self.name)(**parameters, **options)


_LOC = [0.3, -1.2, 2.5]
_SCALE = [0.7, 1.0, 2.5]
_PROBS = [0.2, 0.5, 0.9]
_LOGITS = [-1.2, 0.0, 2.3]
_MATRIX = [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]
_COVARIANCE = [[2.0, 0.5, 0.1], [0.5, 1.5, -0.3], [0.1, -0.3, 1.0]]
_TRIL = [[1.2, 0.0, 0.0], [0.4, 0.9, 0.0], [-0.3, 0.2, 1.1]]
_REAL = [[-1.4, 0.2, 3.1], [0.3, -1.2, 2.5]]
_POSITIVE = [[0.4, 0.2, 3.1], [1.3, 1.2, 2.5]]
_UNIT = [[0.1, 0.45, 0.8], [0.3, 0.5, 0.99]]
_COUNTS = [[0.0, 1.0, 3.0], [2.0, 5.0, 0.0]]
_BITS = [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
_SIMPLEX = [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]
_CORRELATION = [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8]]


def _mixture(d: Any, weights: Any, loc: Any, scale: Any, **options: Any) -> Any:
    return d.MixtureSameFamily(d.Categorical(weights), d.Normal(loc, scale), **options)


def _mixture_of_vectors(d: Any, weights: Any, loc: Any, scale: Any, **options: Any) -> Any:
    return d.MixtureSameFamily(d.Categorical(weights), d.Independent(d.Normal(loc, scale), 1), **options)


def _independent(d: Any, loc: Any, scale: Any, **options: Any) -> Any:
    return d.Independent(d.Normal(loc, scale), 1, **options)


def _transformed(d: Any, loc: Any, scale: Any, **options: Any) -> Any:
    return d.TransformedDistribution(d.Normal(loc, scale), [d.AffineTransform(1.0, -2.0), d.ExpTransform()], **options)


def _no_transform(d: Any, loc: Any, scale: Any, **options: Any) -> Any:
    return d.TransformedDistribution(d.Normal(loc, scale), [], **options)


def _exp_relaxed(d: Any, **options: Any) -> Any:
    return d.relaxed_categorical.ExpRelaxedCategorical(**options)


def _logit_relaxed(d: Any, **options: Any) -> Any:
    return d.relaxed_bernoulli.LogitRelaxedBernoulli(**options)


#: `loc` and `scale` by position in three ways: batches, numbers, and both.
CASES: list[Case] = [
    Case("Bernoulli", {"probs": _PROBS}, values=_BITS),
    Case("Bernoulli", {"logits": _LOGITS}, values=_BITS),
    Case("Bernoulli", {"probs": 0.3}, values=1.0),
    Case("Beta", {"concentration1": _SCALE, "concentration0": [0.4, 3.0, 2.0]}, values=_UNIT),
    Case("Beta", {"concentration1": 2.0, "concentration0": 0.5}, values=_UNIT),
    Case("Binomial", {"total_count": 5, "probs": _PROBS}, values=_COUNTS),
    Case("Binomial", {"total_count": [5.0, 6.0, 7.0], "logits": _LOGITS}, values=_COUNTS),
    Case("Categorical", {"probs": _MATRIX}, values=[2.0, 0.0]),
    Case("Categorical", {"logits": _REAL}, values=[[1.0, 1.0], [0.0, 2.0]]),
    Case("Categorical", {"logits": [0.1, 0.5, -1.0]}, values=2.0),
    Case("Cauchy", {"loc": _LOC, "scale": _SCALE}, values=_REAL),
    Case("Cauchy", {"loc": 1.0, "scale": 2.0}, values=_REAL),
    Case("Chi2", {"df": [1.0, 2.5, 9.0]}, values=_POSITIVE),
    Case("ContinuousBernoulli", {"probs": [0.2, 0.5, 0.4995]}, values=_UNIT),
    Case("ContinuousBernoulli", {"logits": _LOGITS}, values=_UNIT),
    Case("Dirichlet", {"concentration": [[0.5, 2.0, 1.5], [3.0, 1.1, 4.0]]}, values=_SIMPLEX),
    Case("Dirichlet", {"concentration": [0.5, 0.3, 0.2]}, values=_SIMPLEX),
    Case("Exponential", {"rate": _SCALE}, values=_POSITIVE),
    Case("Exponential", {"rate": 0.5}, values=2.0),
    Case("FisherSnedecor", {"df1": [1.0, 3.0, 7.0], "df2": [1.5, 3.0, 8.0]}, values=_POSITIVE),
    Case("Gamma", {"concentration": [0.3, 1.0, 5.0], "rate": _SCALE}, values=_POSITIVE),
    Case("Gamma", {"concentration": 2.0, "rate": _SCALE}, values=_POSITIVE),
    Case("GeneralizedPareto", {"loc": 0.0, "scale": _SCALE, "concentration": [0.4, 0.0, 1.5]}, values=_POSITIVE),
    Case("GeneralizedPareto", {"loc": 0.0, "scale": _SCALE, "concentration": -0.1}, values=_POSITIVE),
    Case("Geometric", {"probs": _PROBS}, values=_COUNTS),
    Case("Geometric", {"logits": _LOGITS}, values=_COUNTS),
    Case("Gumbel", {"loc": _LOC, "scale": _SCALE}, values=_REAL),
    Case("Gumbel", {"loc": 1.0, "scale": 2.0}, values=_REAL),
    Case("HalfCauchy", {"scale": _SCALE}, values=_POSITIVE),
    Case("HalfNormal", {"scale": _SCALE}, values=_POSITIVE),
    Case("Independent", {"loc": _REAL, "scale": _SCALE}, _independent, values=_REAL),
    Case("InverseGamma", {"concentration": [0.5, 1.5, 3.5], "rate": _SCALE}, values=_POSITIVE),
    Case("Kumaraswamy", {"concentration1": [0.5, 1.5, 3.5], "concentration0": _SCALE}, values=_UNIT),
    Case("LKJCholesky", {"dim": 3, "concentration": [0.5, 1.0, 3.0]}, values=[_CORRELATION] * 3),
    Case("LKJCholesky", {"dim": 3, "concentration": 1.5}, values=_CORRELATION),
    Case("Laplace", {"loc": _LOC, "scale": _SCALE}, values=_REAL),
    Case("LogNormal", {"loc": _LOC, "scale": _SCALE}, values=_POSITIVE),
    Case("LogisticNormal", {"loc": [0.3, -0.2], "scale": [0.7, 1.0]}, values=_SIMPLEX),
    Case("LogitRelaxedBernoulli", {"temperature": [0.7], "probs": _PROBS}, _logit_relaxed, values=_REAL),
    Case(
        "LowRankMultivariateNormal",
        {"loc": _REAL, "cov_factor": [[1.0, 0.2], [0.3, -1.0], [0.4, 0.5]], "cov_diag": _SCALE},
        values=_REAL,
    ),
    Case("MixtureSameFamily", {"weights": _MATRIX, "loc": _REAL, "scale": _SCALE}, _mixture, values=[0.1, 0.4]),
    Case("MixtureSameFamily", {"weights": [0.3, 0.7], "loc": _REAL, "scale": _SCALE}, _mixture_of_vectors, _REAL),
    Case("Multinomial", {"total_count": 4, "probs": _MATRIX}, values=[[1.0, 1.0, 2.0], [0.0, 4.0, 0.0]]),
    Case("Multinomial", {"total_count": 4, "logits": _REAL}, values=[[1.0, 1.0, 2.0], [0.0, 4.0, 0.0]]),
    Case("MultivariateNormal", {"loc": _REAL, "covariance_matrix": _COVARIANCE}, values=_REAL),
    Case("MultivariateNormal", {"loc": _LOC, "precision_matrix": [_COVARIANCE, _COVARIANCE]}, values=_REAL),
    Case("MultivariateNormal", {"loc": _LOC, "scale_tril": _TRIL}, values=_REAL),
    Case("NegativeBinomial", {"total_count": 3.0, "probs": _PROBS}, values=_COUNTS),
    Case("NegativeBinomial", {"total_count": [1.5, 3.0, 4.0], "logits": _LOGITS}, values=_COUNTS),
    Case("Normal", {"loc": _LOC, "scale": _SCALE}, values=_REAL),
    Case("Normal", {"loc": 0.5, "scale": 2.0}, values=_REAL),
    Case("Normal", {"loc": 0.5, "scale": _SCALE}, values=0.25),
    Case("OneHotCategorical", {"probs": _MATRIX}, values=[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
    Case("OneHotCategoricalStraightThrough", {"logits": _REAL}, values=[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
    Case("Pareto", {"scale": [0.1, 0.2, 0.3], "alpha": [0.5, 1.5, 3.0]}, values=_POSITIVE),
    Case("Poisson", {"rate": [0.5, 2.5, 9.0]}, values=_COUNTS),
    Case("RelaxedBernoulli", {"temperature": [0.7], "probs": _PROBS}, values=_UNIT),
    Case("RelaxedOneHotCategorical", {"temperature": [0.7], "probs": _MATRIX}, values=_SIMPLEX),
    Case("ExpRelaxedCategorical", {"temperature": [0.7], "logits": _REAL}, _exp_relaxed, values=_REAL),
    Case("StudentT", {"df": [0.8, 1.5, 9.0], "loc": _LOC, "scale": _SCALE}, values=_REAL),
    Case("StudentT", {"df": 4.0}, values=_REAL),
    Case("TransformedDistribution", {"loc": _LOC, "scale": _SCALE}, _transformed, values=_POSITIVE),
    Case("TransformedDistribution", {"loc": _LOC, "scale": _SCALE}, _no_transform, values=_REAL),
    Case("Uniform", {"low": [-2.0, -3.0, 0.0], "high": [4.0, 2.0, 5.0]}, values=_REAL),
    Case("Uniform", {"low": 0.0, "high": 4.0}, values=_POSITIVE),
    Case("VonMises", {"loc": _LOC, "concentration": _SCALE}, values=_REAL),
    Case("Weibull", {"scale": _SCALE, "concentration": [0.5, 1.0, 3.0]}, values=_POSITIVE),
    Case("Wishart", {"df": [4.0, 5.5], "covariance_matrix": _COVARIANCE}, values=[_COVARIANCE] * 2),
    Case("Wishart", {"df": 4.0, "scale_tril": _TRIL}, values=_COVARIANCE),
    Case("Wishart", {"df": 4.5, "precision_matrix": _COVARIANCE}, values=_COVARIANCE),
]
