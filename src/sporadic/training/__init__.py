"""Training: the step, the loop, and what surrounds it."""

from sporadic.training.listeners import MLflow as MLflow
from sporadic.training.listeners import TensorBoard as TensorBoard
from sporadic.training.listeners import live as live
from sporadic.training.loop import train as train
from sporadic.training.optimiser import Schedule as Schedule
from sporadic.training.run import Checkpoint as Checkpoint
from sporadic.training.run import Epoch as Epoch
from sporadic.training.step import make_step as make_step
from sporadic.training.step import use_all_cores as use_all_cores
