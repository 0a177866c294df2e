"""The Mayo Clinic trial in primary biliary cirrhosis, 312 patients followed for up to 14 years (see PBC.md)."""

from importlib.resources import files

import pandas as pd

from sporadic.data.panel import Panel
from sporadic.errors import one_of

CONTINUOUS = ("bili", "chol", "albumin", "alk.phos", "ast", "platelet", "protime")
BINARY = ("ascites", "hepato", "spiders")
ORDINAL = ("edema", "stage")  # edema is 0, 0.5 or 1; stage is 1 to 4
STATIC = ("age", "sex", "treatment")
UNITS = {
    "bili": "mg/dl",
    "chol": "mg/dl",
    "albumin": "g/dl",
    "alk.phos": "U/l",
    "ast": "U/ml",
    "platelet": "1000/µl",
    "protime": "s",
}
"""Of the continuous variables. PBC.md says where these differ from the source's help page."""


def pbc(variables: str = "all") -> Panel:
    """Visits of 312 liver patients: blood tests and clinical signs, by days since enrolment.

    `variables` is "all", or "continuous" for the seven blood tests alone. Covariates are age, sex and treatment.
    Follow-up ends at death, transplant or the end of the study; which of them it was stands in the file, but is no
    covariate, since nobody knew it at the time.
    """
    one_of("variables", variables, ("all", "continuous"))
    names = CONTINUOUS if variables == "continuous" else CONTINUOUS + BINARY + ORDINAL
    return Panel.from_wide(
        visits().drop(columns="status"),
        time="day",
        variables=names,
        static=[*STATIC, "futime"],
        origin=0,
        end="futime",
    )


def visits() -> pd.DataFrame:
    """The file as it is: one row per visit, with `futime` and `status` of the patient repeated on each."""
    with files("sporadic.datasets").joinpath("pbc.csv").open("rb") as file:
        return pd.read_csv(file)
