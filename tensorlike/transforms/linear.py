"""What forward mode knows of functions by their names."""

from __future__ import annotations

__all__ = ["JOINING", "LINEAR", "NOT_FOLLOWED", "PLAIN_RESULTS", "names"]



def names(text: str) -> frozenset[str]:
    """Return the words of `text`."""
    return frozenset(text.split())


#: Linear in all their tensor operands together: the tangent of the result is the function of the tangents.
LINEAR = names(
    """
    H T mH mT real imag conj conj_physical resolve_conj resolve_neg neg negative positive clone contiguous view
    view_as view_as_real view_as_complex reshape reshape_as ravel flatten unflatten permute transpose swapaxes
    swapdims t adjoint movedim moveaxis squeeze unsqueeze expand expand_as broadcast_to broadcast_tensors select
    narrow narrow_copy as_strided diagonal diag diag_embed diagflat unbind split split_with_sizes chunk
    tensor_split hsplit vsplit dsplit unsafe_split unsafe_split_with_sizes unsafe_chunk unfold tril triu flip
    fliplr flipud roll rot90 repeat tile repeat_interleave cat concat concatenate stack hstack vstack row_stack
    dstack column_stack block_diag sum mean cumsum trace sum_to_size atleast_1d atleast_2d atleast_3d diff
    meshgrid to float double half bfloat16 cfloat cdouble type type_as complex alias __getitem__ ifft fft rfft
    irfft hfft ihfft fft2 ifft2 rfft2 irfft2 hfft2 ihfft2 fftn ifftn rfftn irfftn hfftn ihfftn fftshift
    ifftshift cpu cuda
    """
)

#: Those that are linear in several operands; the others are in their first one.
JOINING = names(
    """
    cat concat concatenate stack hstack vstack row_stack dstack column_stack block_diag broadcast_tensors meshgrid
    complex diff atleast_1d atleast_2d atleast_3d
    """
)

#: About the value alone, or without a derivative.
PLAIN_RESULTS = names(
    """
    detach detach_ requires_grad_ size dim ndimension stride storage_offset data_ptr is_contiguous numel
    nelement item tolist numpy __array__ __float__ __int__ __bool__ __index__ __complex__ __len__
    is_floating_point is_complex element_size get_device is_same_size result_type zeros_like ones_like
    empty_like full_like rand_like randn_like randint_like new_zeros new_ones new_empty new_full new_tensor
    argmax argmin argsort isnan isinf isfinite bool int long short char byte __hash__ dim_order is_conj is_neg
    is_inference untyped_storage storage
    """
)

#: Made of other functions, and yet not followed into them.
NOT_FOLLOWED = frozenset(("allclose", "equal"))
