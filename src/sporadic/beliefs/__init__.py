"""Beliefs on the host, in the user's own units: what a forecast says about a number, and what one can ask of it."""

from sporadic.beliefs.base import AbstractBelief as AbstractBelief
from sporadic.beliefs.base import AbstractContinuous as AbstractContinuous
from sporadic.beliefs.base import Unit as Unit
from sporadic.beliefs.counts import Counts as Counts
from sporadic.beliefs.counts import Successes as Successes
from sporadic.beliefs.levels import Levels as Levels
from sporadic.beliefs.mixtures import Mixtures as Mixtures
from sporadic.beliefs.point_mass import PointMasses as PointMasses
from sporadic.beliefs.student_t import StudentTs as StudentTs
