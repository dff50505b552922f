"""The parts of `utils.benchmark`, in files of PyTorch's names."""

from tensorlike._above import explain_absent_names

explain_absent_names(__name__)
