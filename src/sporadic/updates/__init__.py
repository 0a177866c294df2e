"""Updates: how an observation changes a state."""

from sporadic.updates.base import AbstractUpdate as AbstractUpdate
from sporadic.updates.base import Prep as Prep
from sporadic.updates.gru_bayes import GRUBayes as GRUBayes
from sporadic.updates.gru_bayes import SequentialGRUBayes as SequentialGRUBayes
from sporadic.updates.mlp import MLPUpdate as MLPUpdate

UPDATES = {"gru-bayes": GRUBayes, "sequential": SequentialGRUBayes, "mlp": MLPUpdate}
