"""Bound-constrained minimisation by L-BFGS-B, of one problem or of many at a time, and linear
complementarity problems. All work on the CPU or on a CUDA device."""

from ._minimize import minimize
from ._protocol import lbfgsb
from ._solvers import hlcp, lcp

__all__ = ["hlcp", "lbfgsb", "lcp", "minimize"]
