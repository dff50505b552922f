"""Programs around in-place operations and views, run by both libraries: see vs_torch/test_inplace_parity.py.

`a`, `w` (2, 3), `b` (3), `z` () and `c` (2, 3, 4) require grad, all leaves; `k` (2, 3) does not; `i` is of integers.
`off(f)` calls f under no_grad, `infer(f)` in inference mode. `y`, if there is one, is differentiated.
"""

from __future__ import annotations

PROGRAMS = {
    "leaves": """
a.add_(1)
a[0].add_(1)
a.view(-1)[0].mul_(2)
a[0] = 1
a[0] = b
a.zero_()
a.fill_(2)
a.t_()
a.unsqueeze_(0)
a.squeeze_()
a.transpose_(0, 1)
a.resize_(3)
a.resize_as_(b)
a.set_(k)
a.copy_(k)
a.detach_()
a.detach().add_(1)
a.data.add_(1)
v = a.data; v.add_(1); y = a * 2
v = a.detach(); v.add_(1); y = a * 2
off(lambda: a.add_(1)); y = a * a
off(lambda: a[0].add_(1)); y = a * a
off(lambda: a.copy_(w)); y = a * a
off(lambda: a.__setitem__(0, 5.)); y = a * a
off(lambda: a.sub_(0.1 * w)); off(lambda: a.mul_(2)); y = a * w
off(lambda: a.t_()); y = a * 2
off(lambda: a.requires_grad_(False)); a.add_(1)
off(lambda: a.unsqueeze_(0)); y = a * 2
off(lambda: a.resize_(3))
off(lambda: a.set_(k))
off(lambda: k.set_(a))
v = a.view(-1); off(lambda: v.add_(1)); y = v * a.view(-1)
v = a[0]; off(lambda: a.add_(1)); y = v * 2
v = off(lambda: a[0]); v.add_(1)
v = off(lambda: a[0]); y = v * 2
v = off(lambda: a[0]); off(lambda: v.add_(1)); y = v * a[0]
v = off(lambda: a.detach()[0]); v.add_(1); y = a * 2
a += 1
a *= 2
x = a; x -= 1
y = a * 1; y += a
a.requires_grad_(False); a.add_(1)
a.requires_grad_(False); v = a[0]; a.requires_grad_(); v.add_(1)
k.requires_grad_(); k.add_(1)
v = k[0]; k.requires_grad_(); v.add_(1)
v = k[0]; v.requires_grad_(); k.add_(1)
v = k[0]; v.requires_grad_(); v.add_(1)
v = k[0]; v.requires_grad_(); q = k[0]; q.add_(1)
v = k[0]; v.requires_grad_(); k.mul_(a)
v = k[0]; v.requires_grad_(); q = v[1:]; q.mul_(2)
v = k.detach(); v.requires_grad_(); k.add_(1); y = v * 2
v = k.detach(); v.requires_grad_(); p = v * v; k.add_(1); y = p
i.add_(1); v = i[0]; v.mul_(2)
""",
    "versions": """
x = a * 1; x.add_(1); x.mul_(2); y = x
x = a * 1; v = x[0]; v.add_(1); y = x
x = a * 1; v = x[0]; x.add_(1); y = v
x = a * 1; v = x.detach(); v.add_(1); y = x
x = a * 1; v = x.detach(); x.add_(1); y = x
x = a * 1; v = x.data; v.add_(1); y = x
x = a * 1; v = x.data; x.add_(1); y = x
x = a * 1; x.data = k; y = x
x = a * 1; v = x[0]; x.data = k; x.add_(1); y = x
x = a * 1; x.add_(1); x.data = k; x.add_(1); y = x
k.add_(1); v = k.data; v.add_(1)
k.add_(1); v = k.detach(); v.add_(1)
k.add_(1); v = k.view(3, 2).t()[1]; v.zero_()
k.add_(1); v = k.clone(); v.zero_()
k.add_(1); v = k.numpy()
k.zero_(); k.fill_(3); k.copy_(w.detach()); k[0] = 1; k[0, 1] += 2
k.add_(k)
k.t_(); k.unsqueeze_(0); k.squeeze_()
k.resize_(3)
k.resize_(2, 2)
k.set_(w.detach())
k.data = w.detach(); k.add_(1)
k.requires_grad_(); k.requires_grad_(False)
k.detach_()
k.share_memory_()
x = a * 1; x.detach_(); x.add_(1)
x = a * 1; x.requires_grad_(); y = x
x = a * 1; x.requires_grad_(False)
x = torch.add(k, 1, out=k)
x = torch.empty(0, dtype=k.dtype); torch.add(k, 1, out=x)
x = torch.sum(k, 0, out=k[0])
q = k[0]; torch.neg(k[1], out=q)
x = a * 1; torch.add(k, 1, out=x)
torch.add(a, 1, out=k)
k[i > 100] = 0
k[[]] = 0
k[:0] = 0
k.masked_fill_(k > 100, 0)
k.index_put_((torch.tensor([0]),), torch.tensor(1., dtype=k.dtype))
x = a * 1; v = x[0]; u = x[1]; v.add_(1); u.add_(1); q = x[0]; y = [x, v, u, q]
x = a * 1; v = x.view(-1); u = v.view(3, 2); x.add_(1); y = u
x = a * 1; v = x[0]; x = x + 1; v.add_(1); y = x
""",
    "saved": """
x = a * 1; p = x * x; x.add_(1); y = p
x = a * 1; p = x * 2; x.add_(1); y = p
x = a * 1; p = x.exp(); p.add_(1); y = p
x = a * 1; p = x.exp(); x.add_(1); y = p
x = a * 1; p = x.exp(); p.detach().add_(1); y = p
x = a * 1; p = x.exp(); p.data.add_(1); y = p
x = a * 1; p = x.exp(); p[0].add_(1); y = p
x = a * 1; v = x[0]; p = v * v; x.add_(1); y = p
x = a * 1; v = x[0]; p = v * v; x[1].add_(1); y = p
x = a * 1; v = x[0]; p = x * x; v.add_(1); y = p
p = a * a; off(lambda: a.add_(1)); y = p
p = a * w; off(lambda: w.add_(1)); y = p
p = a.exp(); off(lambda: p.add_(1)); y = p
p = a.sigmoid(); off(lambda: p.data.add_(1)); y = p
p = a.tanh(); p.relu_(); y = p
p = a.relu(); p.add_(1); y = p
p = a.relu(); p.mul_(2); y = p
p = a * 1; p.relu_(); p.relu_(); y = p
p = a * 1; p.relu_(); p.exp_(); y = p
p = a * 1; p.exp_(); p.add_(1); y = p
p = a * 1; p.sigmoid_(); y = p
p = a * 1; p.mul_(p); y = p
p = a * 1; p.div_(w); y = p
p = a * 1; p.div_(p + 1); y = p
p = a * 1; p.pow_(2); y = p
p = a * 1; p.sqrt_(); p.mul_(2); y = p
p = a.max(1); p.values.add_(1); y = p.values
p = a.max(1); p.indices.add_(1); y = p.values
p = a @ w.t(); p.add_(1); y = p
x = a * 1; p = x @ w.t(); x.zero_(); y = p
x = a * 1; p = x + w; x.zero_(); y = p
x = a * 1; q = k * 1; p = x * q; q.add_(1); y = p
x = a * 1; q = k * 1; p = x * q; q.set_(k + 1); y = p
x = a * 1; q = k * 1; p = x * q; q.data = k + 1; y = p
x = a * 1; q = k * 1; p = x * q; q.resize_(7); y = p
x = a * 1; p = x * x; x.data.add_(1); y = p
x = a * 1; p = x * x; x.data = k; y = p
x = a * 1; p = x * x; x.detach_(); x.add_(1); y = p
x = a * 1; s = x.softmax(1); s[0] = 0; y = s
x = a * 1; s = x.sum(1, keepdim=True); x.div_(s); y = x
x = a * 1; s = x.sum(); x.mul_(s); y = x
""",
    "views": """
x = a * 1; v = x[0]; v.mul_(b); y = [x, v]
x = a * 1; v = x[0]; x.mul_(w); y = [x, v]
x = a * 1; v = x[0]; q = v[1:]; q.mul_(2); y = [x, v, q]
x = a * 1; v = x[0]; q = x.view(-1); v.mul_(b); y = [x, v, q]
x = a * 1; v = x[0]; q = x[1]; v.copy_(q); y = [x, v, q]
x = a * 1; v = x.t(); q = v[1]; q.zero_(); x.mul_(w); y = [x, v, q]
x = a * 1; v = x.view(-1); v[2] = z; y = [x, v]
x = a * 1; v = x.reshape(3, 2); v.mul_(2); y = x
x = a * 1; v = x.t().reshape(-1); v.mul_(2); y = x
x = a * 1; v = x.narrow(1, 1, 2); v.mul_(2); x.add_(1); y = v
x = a * 1; v = x.diagonal(); v.fill_(z); y = [x, v]
x = a * 1; v = x.unfold(1, 2, 1); x.mul_(w); y = v
x = a * 1; v = x.unfold(1, 2, 1); v.mul_(2); y = x
x = a * 1; v = x.expand(4, 2, 3); x.mul_(2); y = v
x = a * 1; v = x.expand(4, 2, 3); v.mul_(2); y = x
x = a * 1; v = x.expand(2, 3); v.mul_(2); y = x
x = b.expand(2, 3); x.add_(1)
x = b.expand(2, 3); x.zero_()
x = b.expand(2, 3) * 1; x.add_(1); y = x
x = (b * 1).expand(2, 3); x.zero_(); y = x
x = (b * 1).expand(2, 3); x[0].mul_(2); y = x
x = (b * 1).expand(2, 3); x[0, 0] = z; y = x
x = k[0].expand(2, 3); x.zero_()
x = k[0].expand(2, 3); x.fill_(2.)
x = k[0].expand(2, 3); x.copy_(k)
x = k[0].expand(1, 3); x.copy_(k[1])
x = a * 1; v = x[0]; x.detach_(); v.add_(1)
x = a * 1; v = x[0]; v.detach_()
x = a * 1; v = x.detach(); q = v[0]; q.add_(1); y = x * 2
x = a * 1; v = x.view_as(w); v.mul_(w); y = [x, v]
x = a * 1; v = x[0]; del x; v.mul_(2); y = v
x = k * 1; v = x[0]; v.mul_(b); y = [x, v]
x = k * 1; v = x[0]; x.mul_(w); y = [x, v]
x = k * 1; v = x[0]; q = x[1]; v.mul_(b); y = [x, v, q]
x = k * 1; x[0] = b; x[1] = x[0] * 2; y = x
x = k * 1; v = x[0]; off(lambda: v.mul_(b)); y = [x * a, v]
x = k * 1; v = off(lambda: x[0]); v.mul_(2)
x = k * 1; v = off(lambda: x[0]); v.mul_(b); y = x
x = k * 1; v = off(lambda: x[0]); x.mul_(w); y = v
x = k * 1; v = off(lambda: x[0]); x.mul_(w); v.mul_(2); y = v
x = k * 1; v = off(lambda: x[0]); x.mul_(w); y = x
x = a * 1; v = off(lambda: x[0]); v.mul_(2); y = x
x = a * 1; v = off(lambda: x[0]); off(lambda: v.mul_(2)); y = [x, v]
x = a * 1; v = off(lambda: x[0]); x.mul_(2); y = v
x = a * 1; v = off(lambda: x[0]); x.mul_(2); y = x
x = a * 1; v = off(lambda: x[0]); q = v[1:]; q.mul_(2); y = x
x = a * 1; v = off(lambda: x.view(3, 2)); y = v * 2
x = a * 1; v = off(lambda: x.view(-1)); q = v * 2; y = q
x = off(lambda: a * 1); x.add_(1); v = x[0]; v.mul_(b); y = x
x = off(lambda: a * 1); v = x[0]; v.requires_grad_(); y = v * 2
x = a * 1; v = x.real; v.mul_(2); y = x
x = torch.complex(a, w); v = x.real; v.mul_(2); y = [x.real, x.imag]
x = torch.complex(a, w); v = torch.view_as_real(x); v[..., 0].mul_(2); y = [x.real, v]
x = torch.complex(a, w); x.real = k; y = [x.real, x.imag]
x = c * 1; x[:, 0].mul_(2); x[:, :, 1].add_(x[:, :, 0]); y = x
x = c * 1; v = x.permute(2, 0, 1); q = v[1]; q.mul_(w.t().t()); y = [x, v, q]
x = c * 1; v = x.flatten(1); q = v[:, ::2]; x[0].zero_(); y = [v, q]
x = c * 1; v = x.unsqueeze(0); v.squeeze_(); v.mul_(2); y = [x, v]
x = a * 1; v = x.t(); v.t_(); v.mul_(w); y = [x, v]
x = a * 1; v = x[0]; v.t_(); y = v
x = a * 1; v = x.view(-1); v.resize_(3)
x = k * 1; v = x.view(-1); v.resize_(3)
x = a * 1; v = x[0]; v.set_(k)
x = a * 1; x.as_strided_((3, 2), (1, 3)); x.mul_(2); y = x
x = a * 1; v = x.as_strided((2, 2), (3, 1), 1); v.mul_(2); y = [x, v]
x = a * 1; v = x.view(torch.int64); v.add_(1); y = x
x = a * 1; v = x.view(torch.int64); x.add_(1); y = x
""",
    "several views": """
x = a * 1; p, q = x.unbind(); p.add_(1)
x = a * 1; p, q = x.split(1); p.add_(1)
x = a * 1; p, q = x.chunk(2); p.mul_(q)
x = a * 1; p, q, r = x.tensor_split(3, 1); p.mul_(q)
x = a * 1; p, q = x.split_with_sizes([1, 1]); q.zero_()
x = a * 1; p, q = x.vsplit(2); q.zero_()
x = a * 1; p, q, r = x.hsplit(3); q.zero_()
x = a * 1; p, q = x; p.add_(1)
x = a * 1; p = [r for r in x][0]; p.add_(1)
x = a * 1; p, q = x.unbind(); x.add_(1); y = x
x = a * 1; p, q = x.unbind(); x.add_(1); y = p
x = a * 1; p, q = x.unbind(); x.add_(1); r = p * 2
x = a * 1; p, q = x.unbind(); x.add_(1); n = p.grad_fn
x = a * 1; p, q = x.unbind(); x.add_(1); r = p.detach()
x = a * 1; p, q = x.unbind(); r = p * q; y = r
x = a * 1; p, q = x.unbind(); r = p[1:]; r.add_(1)
x = a * 1; p, q = x.unbind(); r = p.view(3); r.add_(1)
x = a * 1; p, q = x.unbind(); off(lambda: p.add_(1)); y = q
x = a * 1; p, q = x.unbind(); off(lambda: p.add_(1)); y = p
x = a * 1; p, q = x.unbind(); p.detach().add_(1); y = p
x = a * 1; p, q = x.unbind(); p.data.add_(1); y = p
x = k * 1; p, q = x.unbind(); p.add_(1); q.mul_(2)
x = k * 1; p, q = x.unbind(); p.add_(b); y = x
x = k * 1; p, q = x.split(1); p.add_(b); y = [x, p]
x = k * 1; p, q = x.unbind(); x.mul_(a); y = x
x = k * 1; p, q = x.unbind(); x.mul_(a); y = p
p, q = a.unbind(); p.add_(1)
p, q = a.split(1); p.add_(1)
p, q = a.unbind(); off(lambda: p.add_(1)); y = [p, q]
p, q = off(lambda: a.unbind()); p.add_(1)
x = a * 1; p, q = off(lambda: x.unbind()); p.add_(1)
x = a * 1; p, q = off(lambda: x.split(1)); off(lambda: p.add_(1)); y = x
x = a * 1; p, q = torch.broadcast_tensors(x, b); p.add_(1); y = x
x = a * 1; p, q = torch.broadcast_tensors(x, b); q.add_(1); y = x
x = a * 1; p, q = torch.meshgrid(x[0], x[1], indexing='ij'); p.add_(1); y = x
x = torch.complex(a, w); p, q = x.real, x.imag; p.mul_(q); y = [x.real, x.imag]
x = a * 1; p, q = torch.unsafe_split(x, 1); p.add_(1); y = [p, q]
x = a * 1; p, q = x.unsafe_chunk(2); p.add_(1); y = [p, q, x]
x = a * 1; x[0], x[1] = x[1] * 1, x[0] * 1; y = x
x = c * 1; p, q = x.unbind(); r, s, t = p.unbind(); r.add_(1)
x = c * 1; p = x[0]; q, r, s = p.unbind(); p.mul_(2); y = p
x = c * 1; p = x[0]; q, r, s = p.unbind(); p.mul_(2); y = q
""",
    "copies": """
x = a * 1; x.copy_(b); y = x
x = a * 1; x.copy_(z); y = x
x = a * 1; x.copy_(w.float()); y = x
x = a * 1; x.copy_(i); y = x
x = a * 1; x.copy_(w.t())
x = a * 1; x.copy_(c)
x = a * 1; x.copy_(k); y = x
x = k * 1; x.copy_(a); y = x
x = k * 1; x.copy_(torch.complex(a, w)); y = x
x = k.float(); x.copy_(a); y = x
x = k.float(); x.copy_(a); q = x * 2; y = q
i.copy_(a)
i.copy_(k)
i.add_(a)
i.add_(1.5)
i.mul_(k)
x = i * 1; x[0] = b
x = i * 1; x[0] = 1.7
x = a * 1; x.copy_(x); y = x
x = a * 1; x.copy_(x.t().t()); y = x
x = a * 1; v = x[0]; v.copy_(z); y = x
x = a * 1; v = x[:, 1:]; v.copy_(b[:2]); y = [x, v]
x = a * 1; x[0].copy_(x[1]); y = x
x = a * 1; x[:, 0].copy_(z); x[:, 1].copy_(x[:, 0]); y = x
x = torch.zeros(2, 3, dtype=a.dtype); x.copy_(a); p = x * x; y = p
x = torch.zeros(2, 3, dtype=a.dtype); x[:, 0] = a[:, 1]; x[:, 0] *= 2; y = x
x = torch.zeros(4, dtype=a.dtype); x[1:].copy_(b); x[:3].mul_(b); y = x
x = torch.zeros(3, dtype=a.dtype); x.add_(a[0]).mul_(b); y = x
x = k * 1; x.add_(a); y = x
x = k * 1; x.add_(c)
x = b * 1; x.add_(a)
x = z * 1; x.add_(b)
x = k * 1; x.add_(torch.complex(a, w))
x = k.float(); x.add_(a); y = x
x = k.float(); x.mul_(a); y = x
x = k > 0; x.add_(1)
x = k > 0; x.add_(k > 0)
x = k > 0; x[0] = b
x = k * 1; x.masked_fill_(k > 0, z); y = x
x = k * 1; x.lerp_(a, 0.5); y = x
x = k * 1; x.addcmul_(a, w); y = x
x = k * 1; x.clamp_(min=0); y = x
x = a * 1; x.clamp_(min=0.1); x.mul_(2); y = x
x = a * 1; x.swapaxes_(0, 1); x[0] = 0; y = x
x = a * 1; x.normal_(); v = x.sum() * 0; y = v
x = a * 1; x.uniform_(); v = x.sum() * 0; y = v
x = a * 1; x.random_(); v = x.sum() * 0; y = v
x = a * 1; x.bernoulli_(); v = x.sum() * 0; y = v
""",
    "indexing": """
x = a * 1; x[x > 0] = 0; y = x
x = a * 1; x[x > 0] = z; y = x
x = a * 1; x[x > 0] *= 2; y = x
x = a * 1; x[k > 0] = w[k > 0]; y = x
x = a * 1; x[:, 1:] = w[:, :2]; y = x
x = a * 1; x[:, ::2] = b[::2]; y = x
x = a * 1; x[..., 0] = z; y = x
x = a * 1; x[None] = w; y = x
x = a * 1; x[0][1] = z; y = x
x = a * 1; x[torch.tensor([1, 0])] = w; y = x
x = a * 1; x[torch.tensor([0, 0])] = w; v = x.sum() * 0; y = v
x = a * 1; x[torch.tensor([1]), 1:] = b[:2]; y = x
x = a * 1; x[torch.tensor([1, 0])].mul_(2); y = x
x = a * 1; x[torch.tensor([1, 0])] *= 2; y = x
x = a * 1; x[0] = w
x = a * 1; x[5] = 1
x = a * 1; x[:, :, 0] = 1
x = a * 1; x['q'] = 1
x = a * 1; x[0] = 'q'
x = a * 1; x[0] = None
x = a * 1; x[0] = [1., 2., 3.]
x = a * 1; x[0] = np.ones(3)
x = a * 1; x[0, 0] = 1j
x = a * 1; x[0] += b; x[0] += b; y = x
x = a * 1; x[0] /= x[1]; y = x
x = a * 1; x[0] = x[0]; y = x
x = a * 1; v = x[0]; x[0] = v * 2; y = [x, v]
x = k * 1; x[0] = a[0]; x[1, 1] = z; y = x
x = k * 1; v = x[1]; x[0] = b; y = [x, v]
x = k * 1; x[k > 0] = z; y = x
x = k * 1; x[torch.tensor([True, False])] = b; y = x
x = k * 1; x[0, torch.tensor([0, 2])] = b[:2]; y = x
x = c * 1; x[0, torch.tensor([0, 2])] = 0; y = x
x = c * 1; x[:, torch.tensor([0, 2]), 1:3] = z; y = x
x = c * 1; x[torch.tensor([0, 1]), :, torch.tensor([1, 2])] = b; y = x
a[a > 0] = 0
a[torch.tensor([0])] = 0
v = a[0]; v[0] = 1
v = a[torch.tensor([0])]; v[0] = 1; y = v
v = a[a > 0]; v.zero_(); y = v
""",
    "hooks": """
x = a * 1; x.retain_grad(); x.mul_(2); y = x
x = a * 1; x.mul_(2); x.retain_grad(); y = x
x = a * 1; x.retain_grad(); p = x * 3; x.mul_(2); y = [x, p]
x = a * 1; x.retain_grad(); v = x[0]; v.mul_(2); y = x
x = a * 1; v = x[0]; v.retain_grad(); v.mul_(2); y = x
x = a * 1; v = x[0]; v.retain_grad(); x.mul_(2); y = [x, v]
x = a * 1; v = x[0]; v.retain_grad(); x.mul_(2); q = v * 3; y = q
x = a * 1; x.retain_grad(); x.retain_grad(); x[0] = b; y = x
x = k * 1; x.mul_(a); x.retain_grad(); y = x * 2
x = k * 1; v = x[0]; x.mul_(a); v.retain_grad(); y = v * 2
x = a * 1; h = x.register_hook(lambda g: g * 10); x.mul_(2); y = x
x = a * 1; x.mul_(2); h = x.register_hook(lambda g: g * 10); y = x
x = a * 1; h = x.register_hook(lambda g: g * 10); p = x * 3; x.mul_(2); y = [x, p]
x = a * 1; h = x.register_hook(lambda g: g * 10); x.mul_(2); h.remove(); y = x
x = a * 1; h = x.register_hook(lambda g: g * 10); x.mul_(2); g = x.register_hook(lambda g: g * 7); y = x
x = a * 1; h = x.register_hook(lambda g: g * 10); x[0].mul_(2); y = x
x = a * 1; v = x[0]; h = v.register_hook(lambda g: g * 10); v.mul_(2); y = x
x = a * 1; v = x[0]; h = v.register_hook(lambda g: g * 10); x.mul_(2); y = v
h = a.register_hook(lambda g: g * 10); off(lambda: a.add_(1)); y = a * a
h = a.register_hook(lambda g: g.mul_(10)); y = a * 2
h = a.register_hook(lambda g: g.zero_()); p = a * 2; y = [p, p]
h = a.register_post_accumulate_grad_hook(lambda t: [off(lambda: t.sub_(t.grad))] and None); y = a * a
x = a * 1; x.retain_grad(); x.detach_()
x = a * 1; h = x.register_hook(lambda g: g * 10); x.detach_(); x.requires_grad_(); y = x * 2
x = a * 1; h = x.register_hook(lambda g: g * 10); x.data = k; y = x * x
h = a.register_hook(lambda g: g * 10); a.data = k; y = a * a
a.data = k; y = a * w
a.data = k.float(); y = a * 2
a.data = k[0]; y = a * 2
a.data = i
a.data = torch.complex(k, k)
a.data = 3
a.data = w; y = a * w
v = a[0]; a.data = k; y = v * 2
v = a[0]; a.data = k; y = a * 2
p = a * a; a.data = k; y = p
p = a * a; a.data = k; y = a * a
p = a.sum() * 1; a.data = k[0]; y = p
k.data = a; y = k * a
a.grad = k; off(lambda: a.grad.zero_()); y = a * 2
(a * 2).sum().backward(); a.grad.add_(1); y = a * 2
(a * 2).sum().backward(); g = a.grad; g.zero_(); y = a * 2
(a * 2).sum().backward(); g = a.grad; y = a * 2
(a * 2).sum().backward(); a.grad = None; y = a * 2
""",
    "functions": """
x = a * 1; p = Inside.apply(x); p.add_(1); y = p
x = a * 1; p = ViewOf.apply(x); y = p
x = a * 1; p = ViewOf.apply(x); p.add_(1); y = p
x = a * 1; p = ViewOf.apply(x); x.add_(1); y = p
x = a * 1; p = ViewOf.apply(x); x.add_(1); y = x
x = a * 1; p = ViewOf.apply(x); q = p[0]; q.add_(1); y = q
x = a * 1; p = ViewOf.apply(x); off(lambda: p.add_(1)); y = p
x = a * 1; p = ViewOf.apply(x); q = p.detach(); q.add_(1); y = p
p = ViewOf.apply(a); y = p
p = ViewOf.apply(a); p.add_(1); y = p
p = ViewOf.apply(k); p.add_(1)
p = ViewOf.apply(k); p.add_(a.view(-1)); y = p
x = a * 1; p, q = TwoViews.apply(x); p.add_(1); y = q
x = a * 1; p, q = TwoViews.apply(x); y = [p, q]
x = a * 1; p = Same.apply(x); y = p
x = a * 1; p = Same.apply(x); p.add_(1); y = p
x = a * 1; p = Same.apply(x); p.add_(1); y = x
x = a * 1; p = Same.apply(x); x.add_(1); y = p
x = a * 1; p = Same.apply(x[0]); p.add_(1); y = p
p = Same.apply(a); p.add_(1); y = p
p = Same.apply(a); y = p
p = Same.apply(k); p.add_(1)
p = ViewWith.apply(k, b); y = p
p = ViewWith.apply(k, b); k.add_(1); y = k * a
p = ViewWith.apply(k, b); k.mul_(a); y = p
x = a * 1; p = Dirty.apply(x); y = p
x = a * 1; v = x[0]; p = Dirty.apply(x); y = v
x = a * 1; q = x * x; p = Dirty.apply(x); y = q
x = a * 1; v = x[0]; p = Dirty.apply(v); y = x
x = a * 1; v = x[0]; p = Dirty.apply(v); y = [x, v, p]
x = a * 1; p, q = x.unbind(); r = Dirty.apply(p); y = x
x = a * 1; v = off(lambda: x[0]); r = Dirty.apply(v); y = x
p = Dirty.apply(a)
p = Dirty.apply(a[0])
p = Dirty.apply(k)
v = k[0]; p = Dirty.apply(v)
p = off(lambda: Dirty.apply(a)); y = a * 2
x = k * 1; p = DirtyBoth.apply(x, a); y = p
x = k * 1; v = x[0]; p = DirtyBoth.apply(v, b); y = x
x = a * 1; x.retain_grad(); p = Dirty.apply(x); y = p
x = a * 1; p = Dirty.apply(x); p.add_(1); y = p
x = a * 1; p = Dirty.apply(Dirty.apply(x)); y = p
x = a * 1; p = NotMarked.apply(x); y = p
x = a * 1; p = NotMarked.apply(x); p.add_(1); y = x
""",
    "inference": """
x = infer(lambda: k * 1); x.add_(1)
x = infer(lambda: k * 1); infer(lambda: x.add_(1))
x = infer(lambda: k * 1); v = x[0]; v.add_(1)
x = infer(lambda: k * 1); y = x * a
x = infer(lambda: k * 1); y = x + a
x = infer(lambda: k * 1); x.requires_grad_()
x = infer(lambda: k * 1); p = x.clone(); p.requires_grad_(); y = p * 2
x = infer(lambda: k.view(-1)); x.add_(1)
x = infer(lambda: k.view(-1)); x.add_(a.view(-1)); y = x
x = infer(lambda: a.view(-1)); x.add_(1)
x = infer(lambda: a.view(-1)); y = x * 2
x = a * 1; v = infer(lambda: x.view(-1)); v.add_(1); y = x
x = a * 1; v = infer(lambda: x.view(-1)); x.add_(1); y = v
x = a * 1; infer(lambda: x.add_(1)); y = x
infer(lambda: a.add_(1)); y = a * 2
x = k * 1; infer(lambda: x.mul_(a)); y = x * a
""",
}
