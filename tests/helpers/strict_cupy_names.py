"""What CuPy 13.6 and CuPy 14.2 both have: the tables behind `strict_cupy`."""

# Names that CuPy 13.6 and CuPy 14.2 share with NumPy. What takes a function or a file is left out.
UFUNCS = """
abs absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_not bitwise_or bitwise_xor
cbrt ceil conj conjugate copysign cos cosh deg2rad degrees divide divmod equal exp exp2 expm1 fabs float_power floor
floor_divide fmax fmin fmod frexp gcd greater greater_equal heaviside hypot invert isfinite isinf isnan lcm ldexp
left_shift less less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor
maximum minimum mod modf multiply negative nextafter not_equal positive power rad2deg radians reciprocal remainder
right_shift rint sign signbit sin sinh sqrt square subtract tan tanh true_divide trunc
"""
# Functions whose first argument need not be an array on the device.
CREATION = """
arange array array_equal array_equiv asanyarray asarray ascontiguousarray asfortranarray atleast_1d atleast_2d
atleast_3d bartlett blackman broadcast_arrays column_stack concatenate diag_indices dsplit dstack einsum empty eye
from_dlpack full hamming hanning hstack identity indices interp iscomplexobj isrealobj ix_ kaiser lexsort linspace
logspace mask_indices meshgrid ndim ones ravel_multi_index result_type row_stack select shape size stack tri
tril_indices triu_indices unravel_index vstack zeros
"""
FUNCTIONS = """
all allclose amax amin angle any append argmax argmin argpartition argsort argwhere around array_split average
bincount broadcast_to choose clip compress convolve copy copyto corrcoef correlate count_nonzero cov cross cumprod
cumsum delete diag diag_indices_from diagflat diagonal diff digitize dot ediff1d empty_like expand_dims extract
fill_diagonal fix flatnonzero flip fliplr flipud full_like gradient histogram hsplit i0 imag inner intersect1d isclose
iscomplex isfortran isin isneginf isposinf isreal kron matmul max may_share_memory mean median min moveaxis nan_to_num
nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar nonzero
ones_like outer packbits pad partition percentile place prod ptp put putmask quantile ravel real repeat require
reshape resize roll rollaxis rot90 round searchsorted setdiff1d setxor1d shares_memory sinc sort sort_complex split
squeeze std sum swapaxes take take_along_axis tensordot tile trace transpose tril tril_indices_from trim_zeros triu
triu_indices_from union1d unique unpackbits unwrap vander var vdot vsplit where zeros_like
"""
SAME_AS_NUMPY = """
bool_ broadcast_shapes byte can_cast cdouble common_type complex128 complex64 complexfloating csingle double dtype e
euler_gamma finfo float16 float32 float64 floating generic half iinfo index_exp inexact inf int16 int32 int64 int8
int_ intc integer intp isscalar issubdtype iterable longlong min_scalar_type nan ndindex newaxis number pi
promote_types s_ short signedinteger single ubyte uint uint16 uint32 uint64 uint8 uintc uintp ulonglong
unsignedinteger ushort
"""
LINALG = """
cholesky det eigh eigvalsh inv lstsq matrix_power matrix_rank norm pinv qr slogdet solve svd tensorinv tensorsolve
"""
FFT = """
fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftfreq rfftn
"""
SPECIAL = """
bdtr bdtrc bdtri beta betainc betaincinv betaln binom boxcox boxcox1p cbrt chdtr chdtrc chdtri cosdg cosm1 cotdg
digamma ellipj ellipk ellipkm1 entr erf erfc erfcinv erfcx erfinv exp1 exp10 exp2 expi expit expm1 expn exprel fdtr
fdtrc fdtri gamma gammainc gammaincc gammainccinv gammaincinv gammaln gammasgn gdtr gdtrc huber i0 i0e i1 i1e
inv_boxcox inv_boxcox1p j0 j1 k0 k0e k1 k1e kl_div log1p log_expit log_ndtr log_softmax loggamma logit logsumexp lpmv
multigammaln nbdtr nbdtrc nbdtri ndtr ndtri pdtr pdtrc pdtri poch polygamma pseudo_huber psi radian rel_entr rgamma
round sindg softmax tandg xlog1py xlogy y0 y1 yn zeta zetac
"""
SCIPY_LINALG = """
bandwidth block_diag circulant companion convolution_matrix dft expm fiedler fiedler_companion hadamard hankel helmert
hilbert leslie lu lu_factor lu_solve solve_triangular toeplitz
"""
GENERATOR = """
beta binomial chisquare dirichlet exponential f gamma geometric hypergeometric integers logseries poisson power random
standard_exponential standard_gamma standard_normal uniform
"""
# Keywords that NumPy takes and CuPy refuses.
REFUSED_KEYWORDS = {
    "all any mean nanmean": "where",
    "amax amin max min nanmax nanmin nanprod nansum prod sum": "initial where",
    "nanstd nanvar std var": "where mean correction",
    "sort": "order stable",
    "argsort": "order stable",
    "argpartition partition": "kind order",
    "clip": "min max",
    "count_nonzero": "keepdims",
    "einsum": "out order casting",
    "indices": "sparse",
    "isin": "kind",
    "lexsort": "axis",
    "percentile quantile": "weights",
    "take": "mode",
    "unique": "sorted",
    "broadcast_arrays broadcast_to copy": "subok",
    "array": "ndmax like",
    "arange asanyarray asarray empty empty_like eye full full_like identity linspace ones ones_like tri zeros "
    "zeros_like": "device like",
    "cholesky": "upper",
    "matrix_rank": "hermitian rtol",
    "pinv": "hermitian rtol",
    "svd": "hermitian",
    FFT.strip().replace("\n", " "): "out device",
}
REFUSED = {name: keywords.split() for names, keywords in REFUSED_KEYWORDS.items() for name in names.split()}
# The dtypes that CuPy's atomic operations know.
ATOMIC = {
    "add": "int32 uint32 uint64 float16 float32 float64",
    "subtract": "int32 uint32",
    "maximum": "int32 uint32 uint64 float32 float64",
    "minimum": "int32 uint32 uint64 float32 float64",
    "bitwise_and": "int32 int64 uint32 uint64",
    "bitwise_or": "int32 int64 uint32 uint64",
    "bitwise_xor": "int32 int64 uint32 uint64",
}
METHODS = {
    "all": "axis out keepdims",
    "any": "axis out keepdims",
    "argmax": "axis out keepdims",
    "argmin": "axis out keepdims",
    "argpartition": "kth axis",
    "argsort": "axis kind",
    "byteswap": "inplace",
    "choose": "choices out mode",
    "clip": "min max out",
    "compress": "condition axis out",
    "conj": "",
    "conjugate": "",
    "cumprod": "axis dtype out",
    "cumsum": "axis dtype out",
    "diagonal": "offset axis1 axis2",
    "dot": "b out",
    "fill": "value",
    "flatten": "order",
    "max": "axis out keepdims",
    "mean": "axis dtype out keepdims",
    "min": "axis out keepdims",
    "nonzero": "",
    "partition": "kth axis",
    "prod": "axis dtype out keepdims",
    "put": "indices values mode",
    "ravel": "order",
    "repeat": "repeats axis",
    "round": "decimals out",
    "searchsorted": "v side sorter",
    "sort": "axis kind",
    "squeeze": "axis",
    "std": "axis dtype out ddof keepdims",
    "sum": "axis dtype out keepdims",
    "swapaxes": "axis1 axis2",
    "take": "indices axis out",
    "trace": "offset axis1 axis2 dtype out",
    "var": "axis dtype out ddof keepdims",
}
# These return views where they can, whatever device is current.
VIEWS = {"diagonal", "ravel", "squeeze", "swapaxes"}
