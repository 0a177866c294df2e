"""Likelihoods: one file a family."""

from sporadic.likelihoods.base import AbstractFamily as AbstractFamily
from sporadic.likelihoods.base import AbstractMetric as AbstractMetric
from sporadic.likelihoods.binary import Binary as Binary
from sporadic.likelihoods.binomial import Binomial as Binomial
from sporadic.likelihoods.categorical import Categorical as Categorical
from sporadic.likelihoods.counts import NegativeBinomial as NegativeBinomial
from sporadic.likelihoods.counts import Poisson as Poisson
from sporadic.likelihoods.gaussian import Gaussian as Gaussian
from sporadic.likelihoods.joint import LowRank as LowRank
from sporadic.likelihoods.mixture import GaussianMixture as GaussianMixture
from sporadic.likelihoods.mixture import even_mixture as even_mixture
from sporadic.likelihoods.ordinal import Ordinal as Ordinal
from sporadic.likelihoods.per_variable import Given as Given
from sporadic.likelihoods.per_variable import PerVariable as PerVariable
from sporadic.likelihoods.per_variable import family_of as family_of
from sporadic.likelihoods.student_t import StudentT as StudentT
from sporadic.likelihoods.zero_inflated import ZeroInflated as ZeroInflated
