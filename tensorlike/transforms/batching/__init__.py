"""Batching rules: how functions compute a whole batch at once. Without one a function is called for each example."""

from __future__ import annotations

from . import along as along
from . import neural as neural
from . import products as products
from . import shaping as shaping
