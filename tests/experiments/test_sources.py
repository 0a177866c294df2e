"""Where data come from: prepared folders, the layout of the authors' code, and mistakes."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sporadic.errors import DataError, FileError, OptionError
from sporadic.experiments.sources import panel_of, read_chunked, recognise
from tests.experiments.chunked import write_chunked


def test_the_layout_of_the_authors_code(tmp_path: Path):
    file = write_chunked(tmp_path / "ushcn" / "small.csv", series=4)
    name, source = recognise(str(tmp_path / "ushcn"))
    assert (name, source) == ("ushcn", {"chunked": str(file.resolve())})
    panel = panel_of(source)
    assert panel.variables == ("PRCP", "SNOW", "SNWD", "TMAX", "TMIN")
    table = pd.read_csv(file)
    assert len(panel.value) == int(table[[f"Mask_{j}" for j in range(5)]].to_numpy().sum())
    assert panel.common_origin == 0
    seen = table[(table["ID"] == 1) & (table["Mask_3"] == 1)]
    mine = (panel.series_of_point[panel.point_of_value] == 1) & (panel.variable == 3)
    np.testing.assert_allclose(panel.value[mine], seen["Value_3"])


def test_mistakes_are_one_sentence(tmp_path: Path):
    with pytest.raises(FileError, match="There is no 'nowhere': name a folder that sporadic prepare wrote"):
        recognise("nowhere")
    with pytest.raises(OptionError, match="holds no table and was not written by sporadic prepare"):
        recognise(str(tmp_path))
    file = write_chunked(tmp_path / "weather.csv", series=3)
    with pytest.raises(OptionError, match=r"does not say which data set it is: write --data ushcn=.*weather\.csv"):
        recognise(str(file))
    assert recognise(f"ushcn={file}")[0] == "ushcn"
    pd.read_csv(file).drop(columns="Value_2").to_csv(file, index=False)
    with pytest.raises(DataError, match="lacks the column 'Value_2'"):
        read_chunked(file)
