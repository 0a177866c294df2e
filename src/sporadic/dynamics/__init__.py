"""Vector fields: how a state moves when nothing is observed."""

from sporadic.dynamics.base import AbstractDynamics as AbstractDynamics
from sporadic.dynamics.base import AbstractRelaxation as AbstractRelaxation
from sporadic.dynamics.gru_ode import GRUODE as GRUODE
from sporadic.dynamics.gru_ode import MinimalGRUODE as MinimalGRUODE
