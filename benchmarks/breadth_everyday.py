"""Everyday calls that PyTorch's operator database lacks: what stands before them, and their texts, by group.

A text is run as it stands, with each library as `torch`. What returns nothing leaves in `x` what is compared.
"""

from __future__ import annotations

import re

__all__ = ["DIFFERENTIATED", "EVERYDAY"]

#: The groups whose calls have gradients, and of what.
DIFFERENTIATED = {
    "indexing": "xyv", "operators": "xyvms", "methods": "xyvms", "functional": ["x", "image", "sequence"],
    "modules": ["x", "image", "sequence"],
}  # fmt: skip

TENSORS = """
F = torch.nn.functional
x = torch.linspace(-1.0, 2.0, 12).reshape(3, 4).clone()
y = torch.linspace(0.5, 2.0, 12).reshape(3, 4).clone()
v = torch.linspace(-1.0, 2.0, 4)
m = torch.linspace(-1.0, 2.0, 16).reshape(4, 4).clone()
s = torch.tensor(2.5)
i = torch.tensor([0, 2])
b = x > 0
n = torch.arange(12).reshape(3, 4).clone()
out = torch.zeros(3, 4)
leaf = torch.linspace(-1.0, 2.0, 4).requires_grad_()
(leaf * leaf).sum().backward()
"""

MODULES = """
F, nn = torch.nn.functional, torch.nn
def filled(module):
    for parameter in module.parameters():
        parameter.data.copy_(torch.linspace(-0.5, 1.0, parameter.numel()).reshape(parameter.shape))
    return module
x = torch.linspace(-1.0, 2.0, 32).reshape(4, 8).clone()
image = torch.linspace(-1.0, 2.0, 192).reshape(1, 3, 8, 8).clone()
sequence = torch.linspace(-1.0, 2.0, 80).reshape(2, 5, 8).clone()
words = torch.tensor([[1, 2, 0], [3, 1, 2]])
target = torch.tensor([1, 0, 3, 2])
linear, bare = filled(nn.Linear(8, 4)), filled(nn.Linear(8, 4, bias=False))
relu, gelu, tanh, sigmoid, softmax = nn.ReLU(), nn.GELU(), nn.Tanh(), nn.Sigmoid(), nn.Softmax(dim=-1)
silu, leaky, identity, flatten = nn.SiLU(), nn.LeakyReLU(), nn.Identity(), nn.Flatten()
layer_norm, group_norm, batch_norm = filled(nn.LayerNorm(8)), filled(nn.GroupNorm(2, 8)), nn.BatchNorm1d(8).eval()
rms_norm, batch_norm2 = filled(nn.RMSNorm(8)), nn.BatchNorm1d(8)
dropout, dropped, embedding = nn.Dropout(0.5).eval(), nn.Dropout(0.5), filled(nn.Embedding(5, 8))
conv, pool, mean_pool = filled(nn.Conv2d(3, 4, 3)), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1)
mlp = filled(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)))
rnn, lstm, gru = filled(nn.RNN(8, 4, batch_first=True)), filled(nn.LSTM(8, 4, batch_first=True)), filled(nn.GRU(8, 4))
cell, attention = filled(nn.LSTMCell(8, 4)), filled(nn.MultiheadAttention(8, 2, batch_first=True))
encoder = filled(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True))
cross_entropy, mse, bce, l1 = nn.CrossEntropyLoss(), nn.MSELoss(), nn.BCEWithLogitsLoss(), nn.L1Loss()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = filled(nn.Linear(8, 8))
        self.two = filled(nn.Linear(8, 4))
    def forward(self, value):
        return self.two(F.relu(self.one(value)))
net = Net()
"""

OPTIMIZERS = """
nn, optim = torch.nn, torch.optim
def stepped(kind, **options):
    parameters = [torch.linspace(-1.0, 1.0, n).requires_grad_() for n in (64, 8, 32, 4)]
    for parameter in parameters:
        parameter.grad = torch.linspace(-0.1, 0.1, parameter.numel())
    return kind(parameters, **options)
sgd, momentum = stepped(optim.SGD, lr=1e-2), stepped(optim.SGD, lr=1e-2, momentum=0.9)
adam, adamw, rmsprop = stepped(optim.Adam, lr=1e-2), stepped(optim.AdamW, lr=1e-2), stepped(optim.RMSprop, lr=1e-2)
adagrad, adamax, nadam = stepped(optim.Adagrad, lr=1e-2), stepped(optim.Adamax, lr=1e-2), stepped(optim.NAdam, lr=1e-2)
adadelta, radam, rprop = stepped(optim.Adadelta, lr=1e-2), stepped(optim.RAdam, lr=1e-2), stepped(optim.Rprop, lr=1e-2)
scheduler = optim.lr_scheduler.StepLR(stepped(optim.SGD, lr=1e-2), 10)
clipped = stepped(optim.SGD, lr=1e-2).param_groups[0]["params"]
linear, inputs, target = nn.Linear(8, 4), torch.linspace(-1.0, 1.0, 16).reshape(2, 8), torch.ones(2, 4)
linear.weight.data.fill_(0.5)
linear.bias.data.fill_(0.5)
training, zeroed = optim.SGD(linear.parameters(), lr=1e-3), stepped(optim.SGD, lr=1e-2)
optimizers = [sgd, momentum, adam, adamw, rmsprop, adagrad, adamax, nadam, adadelta, radam, rprop, training, zeroed]
x = [p for o in optimizers for p in o.param_groups[0]["params"]]
"""

DATA = """
data = torch.utils.data
x = torch.arange(64.0).reshape(16, 4).clone()
labels = torch.arange(16)
dataset = data.TensorDataset(x, labels)
loader, pairs = data.DataLoader(dataset, batch_size=4), [dataset[k] for k in range(4)]
numbers, records = [1.0, 2.0, 3.0, 4.0], [{"a": x[k], "b": k} for k in range(4)]
subset, joined = data.Subset(dataset, [1, 5, 7]), data.ConcatDataset([dataset, dataset])
"""


def texts(lines: str) -> list[str]:
    """Return the calls, between which there are three spaces or a new line."""
    return re.split(r"\s{3,}|\n", lines.strip())


EVERYDAY = {
    "attributes": (TENSORS, texts("""
        x.shape   x.shape[0]   x.size()   x.size(0)   x.dtype   x.device   x.device.type   x.ndim   x.dim()
        x.requires_grad   leaf.grad   leaf.is_leaf   leaf.grad_fn   x.data_ptr()   x.T   x.mT   x.data   len(x)
        x.numel()   x.nelement()   x.stride()   x.stride(0)   x.storage_offset()   x.is_contiguous()
        x.is_floating_point()   x.is_complex()   x.is_cuda   x.layout   x.itemsize   x.nbytes   x.element_size()
        x.real   x.names   x._version   x.is_sparse   x.untyped_storage().nbytes()   isinstance(x, torch.Tensor)
        torch.is_tensor(x)   x.dtype == torch.float32   x.dtype.is_floating_point   torch.finfo(x.dtype).eps
        hash(x) == 0   repr(x)   torch.is_grad_enabled()   torch.get_default_dtype()
    """)),
    "factories": (TENSORS, texts("""
        torch.zeros(3, 4)   torch.zeros((3, 4), dtype=torch.int64)   torch.ones(3, 4)   torch.arange(10)
        torch.arange(0, 1, 0.1)   torch.rand(3, 4)   torch.randn(3, 4)   torch.randint(0, 10, (3, 4))
        torch.randperm(10)   torch.normal(0.0, 1.0, (3,))   torch.full((3, 4), 2.5)   torch.empty(3, 4)
        torch.eye(3)   torch.linspace(0, 1, 10)   torch.logspace(0, 1, 10)   torch.zeros_like(x)
        torch.ones_like(x)   torch.empty_like(x)   torch.full_like(x, 3.0)   torch.rand_like(x)
        torch.randn_like(x)   x.new_zeros(3, 4)   x.new_ones(3)   x.new_empty((3,))   x.new_full((3,), 1.0)
        x.new_tensor([1.0, 2.0])   torch.tensor([1.0, 2.0, 3.0])   torch.tensor([[1, 2], [3, 4]])
        torch.tensor(1.5)   torch.tensor([1.0], requires_grad=True)   torch.as_tensor([1.0, 2.0])
        torch.as_tensor(x)   torch.from_numpy(x.numpy())   torch.Tensor([1.0, 2.0])   torch.FloatTensor(3).shape
        torch.empty_strided((2, 3), (3, 1))   torch.scalar_tensor(2.0)   torch.tril_indices(3, 3)
        torch.complex(x, x)   torch.nn.Parameter(x)   torch.manual_seed(0) is None   torch.device('cpu')
    """)),
    "indexing": (TENSORS, texts("""
        x[0]   x[-1]   x[0, 1]   x[1:]   x[:, 1]   x[:, 1:3]   x[..., 0]   x[None]   x[:, None]   x[::2]   x[i]
        x[:, i]   x[i, i]   x[[0, 2]]   x[b]   x[x > 0]   x[s.long()]   x[i][:, i]   x[0][1]   x[0, 1].item()
        list(x)   [r for r in v]   a, c, d = x   x[0] = 1.0   x[0, 1] = 2.0   x[:, 1] = 0.5   x[1:] = y[1:]
        x[b] = 0.0   x[i] = 1.0   x[i, i] = v[:2]   x[..., 0] = v[:3]   x[0] += 1.0   x[:, 0] *= 1.0
        x.index_select(0, i)   x.gather(1, n[:, :2] % 4)   x.masked_fill(b, 0.0)   x.masked_select(b)   x.take(i)
        x.narrow(1, 0, 2)   x.select(0, 1)   x.unbind(0)   x.split(2)   x.chunk(2, 1)   torch.where(b, x, y)
        torch.where(b, x, 0.0)   b.nonzero()   2.5 in x
    """)),
    "in place": (TENSORS, texts("""
        x += 0.0   x -= 0.0   x *= 1.0   x /= 1.0   x += y * 0   x.add_(0.0)   x.add_(y, alpha=0.0)   x.sub_(0.0)
        x.mul_(1.0)   x.mul_(s * 0 + 1)   x.div_(1.0)   x.zero_()   x.fill_(1.0)   x.copy_(y)   x.clamp_(-1, 1)
        x.clamp_(min=0)   x.relu_()   x.abs_()   x.neg_()   x.lerp_(y, 0.0)   x.addcmul_(y, y, value=0.0)
        x.addcdiv_(y, y, value=0.0)   x.masked_fill_(b, 0.0)   x.index_fill_(0, i, 1.0)
        x.index_add_(0, i, y[:2] * 0)   x.index_copy_(0, i, y[:2])   x.scatter_(1, n % 4, y)
        x.scatter_add_(1, n % 4, y * 0)   x.t_()   x.uniform_()   x.normal_()   x.bernoulli_(0.5)   x.random_(0, 10)
        x.exponential_()   x.requires_grad_(False)   x.detach_()   x.clone().unsqueeze_(0)   b.logical_not_()
        n.bitwise_and_(7)   F.relu_(x)
    """)),
    "out=": (TENSORS, texts("""
        torch.add(x, y, out=out)   torch.sub(x, y, out=out)   torch.mul(x, y, out=out)   torch.div(x, y, out=out)
        torch.exp(x, out=out)   torch.maximum(x, y, out=out)   torch.clamp(x, 0, 1, out=out)
        torch.matmul(x, m, out=out)   torch.mm(x, m, out=out)   torch.cat([x[:1], y[:2]], out=out)
        torch.stack([v, v, v], out=out)   torch.sum(x, 0, out=v)   torch.mean(x, 0, out=v)
        torch.cumsum(x, 0, out=out)   torch.where(b, x, y, out=out)   torch.arange(4.0, out=v)
        torch.zeros(4, out=v)   torch.index_select(x, 0, i, out=out[:2])
    """)),
    "operators": (TENSORS, texts("""
        x + 1   x + 1.0   1 + x   x - 1   1 - x   x * 2   2 * x   x / 2   2 / x   x // 2   x % 2   x ** 2   y ** 0.5
        2 ** x   -x   abs(x)   x > 0   x >= 0   x < 1.0   x == 0   x != y   x + y   x - y   x * y   x / y   y ** y
        x + v   x + s   s * x   s + 1   s * s   x @ m   x @ v   v @ v   b & b   b | b   ~b   b ^ b   n + 1   n * 2
        n // 2   n % 3   n / 2   n & 1   n << 1   n + x   bool(s > 0)   float(s)   int(s)   if s > 1: pass
        x.add(1)   x.add(y, alpha=2)   x.mul(2.0)   x.div(2, rounding_mode='floor')   x.pow(2)   x.eq(0)
        torch.add(x, 1)   torch.mul(x, 2.0)
    """)),
    "methods": (TENSORS, texts("""
        x.to(torch.float64)   x.to(torch.float32)   x.to('cpu')   x.to(torch.device('cpu'))   x.to(y)   x.float()
        x.double()   x.long()   x.int()   x.half()   x.bool()   x.type(torch.float64)   x.cpu()   x.clone()
        x.detach()   x.detach().clone()   x.contiguous()   x.t().contiguous()   s.item()   x.tolist()   x.numpy()
        x.detach().cpu().numpy()   x.view(4, 3)   x.view(-1)   x.reshape(2, 6)   x.reshape(-1)   x.flatten()
        x.transpose(0, 1)   x.permute(1, 0)   x.t()   x.unsqueeze(0)   x.squeeze()   x.expand(2, 3, 4)
        x.repeat(2, 1)   x.sum()   x.sum(0)   x.sum(dim=-1, keepdim=True)   x.mean()   x.mean(dim=0)   x.std()
        x.var(0)   x.max()   x.max(1)   x.min()   x.argmax()   x.argmax(dim=1)   x.norm()   x.abs().max()   x.exp()
        x.relu()   x.sigmoid()   x.tanh()   x.softmax(-1)   x.log_softmax(-1)   x.matmul(m)   v.dot(v)
        x.clamp(0, 1)   x.sort()   x.topk(2)   x.cumsum(0)   x.any()   b.all()   b.sum()   x.isnan().any()
        x.type_as(y)   x.view_as(y)   x.expand_as(y)   torch.cat([x, y])   torch.stack([x, y])
        torch.allclose(x, y)   torch.equal(x, y)   torch.einsum('ij,jk->ik', x, m)   torch.outer(v, v)
        torch.bmm(x[None], m[None])   torch.unique(n)   torch.meshgrid(v, v, indexing='ij')
    """)),
    "functional": (MODULES, texts("""
        F.relu(x)   F.gelu(x)   F.silu(x)   F.softmax(x, dim=-1)   F.log_softmax(x, dim=-1)   F.sigmoid(x)
        F.tanh(x)   F.leaky_relu(x, 0.1)   F.elu(x)   F.softplus(x)   F.linear(x, bare.weight)
        F.linear(x, linear.weight, linear.bias)   F.dropout(x, 0.5, training=False)   F.dropout(x, 0.5)
        F.layer_norm(x, (8,))   F.batch_norm(x, x[0], x[1] * 0 + 1)   F.embedding(words, embedding.weight)
        F.one_hot(words, 5)   F.pad(x, (1, 1))   F.normalize(x, dim=-1)   F.cross_entropy(x, target)
        F.nll_loss(x, target)   F.mse_loss(x, x + 1)   F.l1_loss(x, x + 1)   F.smooth_l1_loss(x, x + 1)
        F.binary_cross_entropy_with_logits(x, x * 0)   F.kl_div(x, x, reduction='batchmean', log_target=True)
        F.cosine_similarity(x, x)   F.conv2d(image, conv.weight, conv.bias)   F.conv1d(sequence, sequence)
        F.max_pool2d(image, 2)   F.avg_pool2d(image, 2)   F.adaptive_avg_pool2d(image, 1)
        F.interpolate(image, scale_factor=2)   F.interpolate(image, size=(4, 4), mode='bilinear')
        F.scaled_dot_product_attention(sequence, sequence, sequence)   F.unfold(image, 3)
    """)),
    "modules": (MODULES, texts("""
        linear(x)   bare(x)   relu(x)   gelu(x)   silu(x)   tanh(x)   sigmoid(x)   softmax(x)   leaky(x)
        identity(x)   flatten(image)   layer_norm(x)   rms_norm(x)   group_norm(x)   batch_norm(x)   batch_norm2(x)
        dropout(x)   dropped(x)   embedding(words)   conv(image)   pool(image)   mean_pool(image)   mlp(x)   net(x)
        rnn(sequence)   lstm(sequence)   gru(sequence)   cell(x)   attention(sequence, sequence, sequence)
        encoder(sequence)   cross_entropy(x, target)   mse(x, x * 0)   bce(x, x * 0)   l1(x, x * 0)   linear.weight
        linear.bias   net.one   linear.in_features   net.training   list(net.parameters())
        list(net.named_parameters())   list(net.modules())   net.state_dict()
        net.load_state_dict(net.state_dict())   net.train() is net   net.eval() is net   net.zero_grad()
        net.to(torch.float32) is net   net.requires_grad_(True) is net   filled(nn.Linear(8, 4)).weight
        nn.ReLU().training   repr(mlp)
    """)),
    "optimizers": (OPTIMIZERS, texts("""
        sgd.step()   momentum.step()   adam.step()   adamw.step()   rmsprop.step()   adagrad.step()   adamax.step()
        nadam.step()   adadelta.step()   radam.step()   rprop.step()   zeroed.zero_grad()   scheduler.step()
        nn.utils.clip_grad_norm_(clipped, 1e9)   nn.utils.clip_grad_value_(clipped, 1e9)
        stepped(optim.SGD, lr=0.1).step()   stepped(optim.Adam, lr=0.1).step()
        training.zero_grad(); loss = nn.functional.mse_loss(linear(inputs), target); loss.backward(); training.step()
        adam.state_dict() is None
    """)),
    "data": (DATA, texts("""
        list(loader)   next(iter(loader))   dataset[3]   len(dataset)   subset[1]   joined[20]
        data.default_collate(pairs)   data.default_collate(numbers)   data.default_collate(records)
        data.default_collate([x[0], x[1], x[2]])   list(data.SequentialSampler(dataset))
        list(data.BatchSampler(data.SequentialSampler(dataset), 4, False))   len(list(data.RandomSampler(dataset)))
        [len(d) for d in data.random_split(dataset, [12, 4])]
    """)),
    "gradients": (TENSORS, texts("""
        (leaf * leaf).sum().backward()   torch.autograd.grad((leaf * leaf).sum(), leaf)   leaf.detach()   leaf * 2
        leaf.exp()   (leaf * 2).grad_fn is None   (leaf * 2).requires_grad   with torch.no_grad(): leaf * 2
        with torch.enable_grad(): leaf * 2   with torch.inference_mode(): leaf * 2
        with torch.no_grad(): leaf.add_(0.0)   leaf.grad.zero_()   leaf.grad = None
        torch.func.grad(lambda a: (a * a).sum())(v)   torch.func.vmap(lambda a: a * 2)(x)   torch.vmap(torch.sum)(x)
        torch.func.jacrev(torch.sin)(v)   torch.utils._pytree.tree_map(torch.neg, [x, {'a': y}])
        torch.autograd.functional.vjp(torch.exp, v, v)
    """)),
}  # fmt: skip
