"""Likelihoods: one file a family."""

from sporadic.likelihoods.base import AbstractFamily as AbstractFamily
from sporadic.likelihoods.gaussian import Gaussian as Gaussian
from sporadic.likelihoods.mixture import GaussianMixture as GaussianMixture
from sporadic.likelihoods.mixture import even_mixture as even_mixture
