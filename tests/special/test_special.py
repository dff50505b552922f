"""Special functions beyond what their samples show: identities between them, and when SciPy is imported."""

from __future__ import annotations

import tensorlike as tl


def test_scipy_is_imported_when_it_is_needed():
    import subprocess
    import sys

    program = (
        "import sys, tensorlike as tl\n"
        "x = tl.ones(2).exp().sigmoid() ** 2\n"
        "assert 'scipy' not in sys.modules\n"
        "tl.erf(x)\n"
        "assert 'scipy.special' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_identities():
    x = tl.linspace(0.5, 4, 8, dtype=tl.float64)
    near = {"rtol": 1e-12, "atol": 1e-12}
    assert tl.allclose(tl.erf(x) + tl.erfc(x), tl.ones_like(x), **near)
    assert tl.allclose(tl.lgamma(x + 1), tl.lgamma(x) + tl.log(x), **near)
    assert tl.allclose(tl.digamma(x + 1), tl.digamma(x) + 1 / x, **near)
    assert tl.allclose(tl.igamma(x, x) + tl.igammac(x, x), tl.ones_like(x), **near)
    chebyshev = tl.special.chebyshev_polynomial_t
    t = x / 4
    assert tl.allclose(chebyshev(t, 5), 2 * t * chebyshev(t, 4) - chebyshev(t, 3), **near)
    wronskian = tl.special.bessel_j1(x) * tl.special.bessel_y0(x) - tl.special.bessel_j0(x) * tl.special.bessel_y1(x)
    assert tl.allclose(wronskian, 2 / (tl.pi * x), **near)
