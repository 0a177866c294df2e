"""Updates: how an observation changes a state."""

from sporadic.updates.base import AbstractUpdate as AbstractUpdate
from sporadic.updates.base import Prep as Prep
from sporadic.updates.gru_bayes import GRUBayes as GRUBayes
from sporadic.updates.mlp import MLPUpdate as MLPUpdate
from sporadic.updates.sequential import SequentialGRUBayes as SequentialGRUBayes

UPDATES = {"gru-bayes": GRUBayes, "sequential": SequentialGRUBayes, "mlp": MLPUpdate}
