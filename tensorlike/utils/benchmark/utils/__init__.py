"""The parts of `utils.benchmark`, in files of PyTorch's names."""

from tensorlike._absent import explain_absent_names

explain_absent_names(__name__)
