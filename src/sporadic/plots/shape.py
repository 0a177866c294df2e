"""How beliefs about one variable of one series are drawn: the contract that every shape keeps."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class AbstractShape(ABC):
    """Beliefs at successive times `when`, for axes of the variable's own."""

    when: np.ndarray
    line: str = ""  # what its line stands for
    has_intervals: bool = False
    covers: bool = False  # whether it fills its axes, so that what lies on it must stand out

    @property
    @abstractmethod
    def lowest(self) -> float:
        """The least height that is drawn."""

    @abstractmethod
    def draw(self, ax: "Axes", seen: np.ndarray) -> None:
        """On axes where values that were observed at the times `seen` are drawn, too."""

    def heights(self, when: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Where values that were observed stand."""
        return value

    @abstractmethod
    def mark(self, ax: "Axes") -> str:
        """Sets ticks, and says what the axis is to be called."""

    @abstractmethod
    def explain(self, ax: "Axes") -> None:
        """Names what needs a name, at the right edge."""
