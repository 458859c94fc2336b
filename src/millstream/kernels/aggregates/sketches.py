"""Approximate aggregate functions."""

from __future__ import annotations

from millstream.kernels.aggregates.buffers import Maker

FUNCTIONS: dict[str, Maker] = {}
