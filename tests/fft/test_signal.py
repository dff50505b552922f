"""Windows and pieces of signals beyond the samples: SciPy's windows, signals put together again, what is refused."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.signal

import tensorlike as tl
from tensorlike.overrides import TorchFunctionMode
from tests.helpers.values import array

W = tl.signal.windows

#: SciPy's window for each of ours.
SCIPY = {
    "bartlett": (W.bartlett, "bartlett", {}),
    "blackman": (W.blackman, "blackman", {}),
    "cosine": (W.cosine, "cosine", {}),
    "exponential": (W.exponential, "exponential", {"tau": 2.5}),
    "gaussian": (W.gaussian, "gaussian", {"std": 1.5}),
    "general_cosine": (W.general_cosine, "general_cosine", {"a": [0.5, 0.3, 0.2]}),
    "general_hamming": (W.general_hamming, "general_hamming", {"alpha": 0.7}),
    "hamming": (W.hamming, "hamming", {}),
    "hann": (W.hann, "hann", {}),
    "kaiser": (W.kaiser, "kaiser", {"beta": 5.0}),
    "nuttall": (W.nuttall, "nuttall", {}),
}
OLDER = {
    "bartlett": tl.bartlett_window,
    "blackman": tl.blackman_window,
    "hamming": tl.hamming_window,
    "hann": tl.hann_window,
    "kaiser": tl.kaiser_window,
}


class TestWindows:
    @pytest.mark.parametrize("sym", [True, False])
    @pytest.mark.parametrize("M", [0, 1, 2, 7, 8])
    @pytest.mark.parametrize("name", SCIPY)
    def test_as_scipy_has_them(self, name, M, sym):
        ours, theirs, options = SCIPY[name]
        expected = getattr(scipy.signal.windows, theirs)(M, sym=sym, **options)
        found = ours(M, sym=sym, dtype=tl.float64, **options)
        np.testing.assert_allclose(array(found), expected, rtol=1e-12, atol=1e-12)
        assert ours(M, sym=sym, **options).dtype == tl.get_default_dtype()

    @pytest.mark.parametrize("name", OLDER)
    def test_the_older_functions_are_the_same(self, name):
        given = {"beta": 5.0} if name == "kaiser" else {}
        for periodic in (True, False):
            found = OLDER[name](6, periodic, *given.values(), dtype=tl.float64, requires_grad=True)
            assert found.requires_grad
            assert tl.allclose(found, SCIPY[name][0](6, sym=not periodic, dtype=tl.float64, **given))

    @pytest.mark.parametrize("name", SCIPY)
    def test_what_is_refused(self, name):
        window, _, options = SCIPY[name]
        with pytest.raises(ValueError, match="requires non-negative window length"):
            window(-1, **options)
        with pytest.raises(ValueError, match="expects float32 or float64 dtypes"):
            window(3, dtype=tl.int64, **options)
        with pytest.raises(TypeError, match="must be int, not float"):
            window(2.5, **options)

    @pytest.mark.parametrize(
        "call, error, message",
        [
            (lambda: W.exponential(3, tau=0), ValueError, "Tau must be positive"),
            (lambda: W.exponential(3, center=1.0), ValueError, "Center must be None"),
            (lambda: W.gaussian(3, std=-1.0), ValueError, "deviation must be positive"),
            (lambda: W.kaiser(3, beta=-1.0), ValueError, "beta must be non-negative"),
            (lambda: W.general_cosine(3, a=[]), ValueError, "cannot be empty"),
            (lambda: W.general_cosine(3, a=1.0), TypeError, "must be (a list|tuple of floats)"),
            (lambda: W.general_cosine(3, a=["x"]), ValueError, "must be numbers"),
            (lambda: tl.hann_window(-1), RuntimeError, "non-negative window_length"),
            (lambda: tl.hann_window(3, dtype=tl.int32), RuntimeError, "expects floating point dtypes"),
            (lambda: tl.hann_window(3.5), TypeError, "must be int"),
            (lambda: tl.logspace(0, 1, -1), RuntimeError, "must be non-negative"),
            (lambda: tl.logspace("a", 1, 2), TypeError, "must be Number"),
            (lambda: tl.broadcast_shapes((2,), (3,)), RuntimeError, "cannot be broadcast"),
            (lambda: tl.broadcast_shapes((-1,)), ValueError, "negative length"),
        ],
    )
    def test_arguments_out_of_range(self, call, error, message):
        with pytest.raises(error, match=message):
            call()

    def test_modes_see_them(self):
        seen = []

        class Log(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append(func)
                return func(*args, **(kwargs or {}))

        with Log():
            W.hann(3)
            tl.hann_window(3)
            tl.logspace(0, 1, 2)
        assert seen == [W.hann, tl.hann_window, tl.logspace]

    def test_scipy_is_not_imported_for_them(self):
        code = "import sys, tensorlike as tl; tl.signal.windows.kaiser(5); sys.exit('scipy.signal' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_logspace():
    assert tl.logspace(0, 3, 4, base=2).tolist() == [1, 2, 4, 8]
    assert tl.logspace(0, 2, 3, dtype=tl.int32).tolist() == [1, 10, 100]
    assert tl.logspace(0, 1, 2, dtype=tl.complex64).dtype == tl.complex64
    out = tl.empty(0)
    assert tl.logspace(tl.tensor(0.0), 1, 2, out=out) is out
    assert out.tolist() == [1, 10]


class TestPieces:
    @pytest.mark.parametrize("normalized", [True, False])
    @pytest.mark.parametrize("complex_", [True, False])
    def test_a_signal_is_put_together_again(self, complex_, normalized):
        x = tl.randn(2, 50, dtype=tl.complex128 if complex_ else tl.float64)
        window = tl.hann_window(16, dtype=tl.float64)
        given = {"hop_length": 5, "window": window, "normalized": normalized}
        spectrum = tl.stft(x, 16, return_complex=True, **given)
        assert spectrum.shape[1] == (16 if complex_ else 9)
        back = tl.istft(spectrum, 16, length=50, return_complex=complex_, **given)
        assert tl.allclose(back, x)

    def test_it_is_what_scipy_computes(self):
        x = np.random.default_rng(0).normal(size=40)
        window = scipy.signal.windows.hann(8, sym=False)
        transform = scipy.signal.ShortTimeFFT(window, 2, fs=1.0, fft_mode="onesided")
        expected = transform.stft(x, p0=2, p1=18, k_offset=0)
        ours = tl.stft(tl.tensor(x), 8, 2, window=tl.tensor(window), center=False, return_complex=True)
        assert ours.shape == (5, 17)
        # SciPy puts the middle of the window, not its beginning, at zero time; the sizes are the same.
        np.testing.assert_allclose(np.abs(array(ours))[:, :16], np.abs(expected), atol=1e-12)

    def test_without_a_window_the_inverse_warns(self):
        spectrum = tl.stft(tl.ones(8), 4, return_complex=True)
        with pytest.warns(UserWarning, match="A window was not provided"):
            tl.istft(spectrum, 4)

    def test_a_longer_signal_is_filled_with_zeros(self):
        window = tl.ones(4)
        spectrum = tl.stft(tl.ones(8), 4, window=window, return_complex=True)
        with pytest.warns(UserWarning, match="shorter than the length"):
            found = tl.istft(spectrum, 4, window=window, length=12)
        assert found[-2:].tolist() == [0, 0]

    @pytest.mark.parametrize(
        "call, error, message",
        [
            (lambda x: tl.stft(x, 4), RuntimeError, "return_complex parameter"),
            (lambda x: tl.stft(x, 4, 0, return_complex=True), RuntimeError, "expected hop_length > 0"),
            (lambda x: tl.stft(x, 4, 1, 5, return_complex=True), RuntimeError, "win_length <= n_fft"),
            (lambda x: tl.stft(x, 4, window=tl.ones(3), return_complex=True), RuntimeError, "1D window tensor"),
            (lambda x: tl.stft(x, 40, return_complex=True), RuntimeError, "Padding size"),
            (lambda x: tl.stft(x.int(), 4, return_complex=True), RuntimeError, "floating point or complex"),
            (lambda x: tl.stft(x + 0j, 4, onesided=True), RuntimeError, "Cannot have onesided"),
            (lambda x: tl.istft(x, 4), RuntimeError, "complex-valued input"),
            (lambda x: tl.istft(tl.ones(4, 3) + 0j, 5), RuntimeError, "frequency dimension"),
            (lambda x: tl.istft(tl.ones(3, 3) + 0j, 4, window=tl.zeros(4)), RuntimeError, "window overlap add min"),
        ],
    )
    def test_what_is_refused(self, call, error, message):
        with pytest.raises(error, match=message):
            call(tl.ones(8))
