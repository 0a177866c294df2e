"""The exact filter of the OU data sets: the physical limit that no model can beat but by luck.

Given its target r, its θ and its lag, an OU pair is linear-Gaussian, and a Kalman filter is exact (`belief`). θ and the
lag are unknown too: each of their values is a hypothesis, weighed by its likelihood. The likelihood is Gaussian in r,
and a uniform prior cuts it to a box (`box`). A predicted scalar depends on r through one direction only, along which
that cut Gaussian has a density in closed form; so the exact predictive of a scalar is a mixture of Gaussians in one
dimension. Measured against a much finer `quadrature`, the nll of a single scalar is right to 1e-6, and the mean over a
data set to 1e-8.
"""

from sporadic.oracle.filters import AbstractOUFilter, MomentMatchedOUFilter, OUFilter

__all__ = ["AbstractOUFilter", "MomentMatchedOUFilter", "OUFilter"]
