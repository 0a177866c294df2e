"""The figure that every plot is drawn on. Imports matplotlib, so it is itself imported only where one is drawn."""

from io import BytesIO

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure made without pyplot, hence without global state or a window, that a notebook shows all the same."""

    def _repr_png_(self) -> bytes:
        file = BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()
