"""Tensors between processes while tensorlike is installed as torch: by shared memory, as without."""

from __future__ import annotations

from tests.as_torch.processes import code


def test_tensors_travel_by_shared_memory():
    code("""
        import tensorlike as tl
        tl.install_as_torch()
        import torch
        from torch.utils.data import DataLoader

        class Sub(torch.Tensor):
            pass

        def fill(sent, done):
            for _ in range(4):
                x = sent.get()
                torch.Tensor.fill_(x.detach(), 7) if isinstance(x, torch.Tensor) else x.fill_(7)
            done.put(True)

        processes = torch.multiprocessing.get_context("fork")
        sent, done = processes.Queue(), processes.Queue()
        child = processes.Process(target=fill, args=(sent, done))
        child.start()
        given = [torch.ones(3), torch.nn.Parameter(torch.ones(3)), torch.ones(3).as_subclass(Sub),
                 torch.UntypedStorage([1, 1, 1])]
        for each in given:
            sent.put(each)
        assert done.get() is True
        child.join()
        for each in given:
            assert each.tolist() == [7, 7, 7] and each.is_shared(), type(each)

        class Rows(torch.utils.data.Dataset):
            def __len__(self):
                return 2
            def __getitem__(self, i):
                return torch.full((50_000,), float(i))

        [batch] = DataLoader(Rows(), batch_size=2, num_workers=1)
        assert batch.is_shared() and batch[:, 0].tolist() == [0, 1]
    """)
