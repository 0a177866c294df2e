"""What a service can be sent, and what it answers, as OpenAPI knows it. A time is a number or ISO-8601 text."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from sporadic.forecasting.percentages import percentage

MOST_READINGS = 1_000
MOST_TIMES = 1_000
LONGEST_ID = 200
FURTHEST = 1e15  # from 0, of a time that is a number

PRINTABLE = r"^[^\x00-\x1f\x7f]+$"
PRINTABLE_OR_NONE = r"^[^\x00-\x1f\x7f]*$"

Text = Annotated[str, StringConstraints(strict=True, max_length=1_000)]
Id = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=LONGEST_ID, pattern=PRINTABLE)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Moment = Annotated[Number, Field(ge=-FURTHEST, le=FURTHEST)] | Annotated[str, StringConstraints(max_length=64)]
Level = Annotated[float, AfterValidator(percentage), Field(json_schema_extra={"minimum": 1, "exclusiveMaximum": 100})]
Levels = Annotated[list[Level], Field(min_length=1, max_length=10)]
Steps = Annotated[int, Field(ge=1, le=MOST_TIMES)]
Horizon = Annotated[Number, Field(gt=0, le=FURTHEST)] | Annotated[str, StringConstraints(max_length=64)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Seen(Body):
    """What is, or would be, observed of a series at one time."""

    time: Moment
    values: Annotated[dict[Text, Number | Text], Field(max_length=10_000)]


class Observation(Seen):
    """What was observed of a series at one time: numbers, or labels where a variable has words."""

    id: Id
    values: Annotated[dict[Text, Number | Text], Field(max_length=10_000)] = {}
    controls: dict[Text, Number] | None = Field(None, description="Set, or given, at this time.")
    static: dict[Text, Number | Text | None] | None = Field(None, description="Covariates of a series that is new.")
    origin: Moment | None = Field(None, description="Where a new series starts, if not at its first observation.")


class Observations(Body):
    """One or many observations, stored together or not at all."""

    observations: Annotated[list[Observation], Field(min_length=1, max_length=MOST_READINGS)]


class WhatIf(Body):
    """A series with hypothetical observations beside its own."""

    id: Id
    observations: Annotated[list[Seen], Field(max_length=100)]
    until: Moment | None = None
    since: Moment | None = None
    horizon: Horizon | None = None
    steps: Steps = 200
    levels: Levels = [50.0, 95.0]


class Answer(BaseModel):
    pass


class Stored(Answer):
    """How many values were stored, and how many were known already, with the same value."""

    stored: int
    known: int


class Health(Answer):
    status: str


class SeriesSummary(Answer):
    id: str
    observations: int
    first: float | str | None
    last: float | str | None


class SeriesList(Answer):
    total: int
    series: list[SeriesSummary]


class Point(Answer):
    time: float | str
    values: dict[str, float | str]


class ControlRecord(Answer):
    name: str
    start: float | str
    end: float | str | None
    value: float


class SeriesData(Answer):
    """All that is stored of a series, in order of time."""

    id: str
    origin: float | str | None
    static: dict[str, Any]
    observations: list[Point]
    controls: list[ControlRecord]


class Interval(Answer):
    low: list[float | None]
    high: list[float | None]


class Belief(Answer):
    """About one variable, an entry per time; null where there is no number, as the mean of levels without an order."""

    mean: list[float | None]
    std: list[float | None]
    median: list[float | None]
    intervals: dict[str, Interval]
    probabilities: dict[str, list[float | None]] | None


class ForecastAnswer(Answer):
    """Beliefs at later times, from all that is stored of a series up to `now`; null, if nothing was observed yet."""

    id: str
    now: float | str | None
    times: list[float | str]
    variables: dict[str, Belief]


class PathAnswer(Answer):
    """What was believed at each time, given what came before it; after `until`, given what came until then.

    At every observation there are two entries of the same time: just before and just after it was taken in.
    """

    id: str
    until: float | str
    end: float | str
    times: list[float | str]
    variables: dict[str, Belief]


class WhatIfAnswer(Answer):
    """A path with hypothetical observations, and one without them, at the same times."""

    id: str
    until: float | str
    end: float | str
    times: list[float | str]
    untouched: dict[str, Belief]
    what_if: dict[str, Belief]


class TimeCard(Answer):
    """`span` is how long a training series was, in the unit of the times; of dates, in seconds."""

    kind: str
    timezone: str | None
    column: str
    span: float


class VariableCard(Answer):
    name: str
    likelihood: str
    levels: list[float | str]
    ordered: bool
    discrete: bool


class StaticCard(Answer):
    name: str
    levels: list[str]


class ControlCard(Answer):
    name: str
    kind: str


class Card(Answer):
    """What the model is: its variables and how they are modelled, its settings, and how it was trained."""

    name: str
    model: str
    sporadic: str
    parameters: int
    time: TimeCard
    variables: list[VariableCard]
    static: list[StaticCard]
    controls: list[ControlCard]
    settings: dict[str, Any]
    history: list[dict[str, float | None]]
    best_epoch: int | None


class Quality(Answer):
    """Of one variable. What makes no sense for it, such as intervals of levels without an order, is null."""

    name: str
    likelihood: str
    n: int
    nll: float | None
    mse: float | None
    crps: float | None
    brier: float | None
    accuracy: float | None
    pit: list[int] | None
    coverage: dict[str, float | None] | None


class CalibrationAnswer(Answer):
    """How honest forecasts of stored series are; `how` says what was forecast."""

    series: int
    values: int
    how: str
    variables: list[Quality]
    total: Quality | None


class Problem(Answer):
    """What is wrong, in a sentence."""

    detail: str
