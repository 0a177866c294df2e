"""Likelihoods: one file a family."""

from sporadic.likelihoods.base import AbstractFamily as AbstractFamily
from sporadic.likelihoods.gaussian import Gaussian as Gaussian
