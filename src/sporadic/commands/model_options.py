"""Which model is fitted and how: the parameters of a `Forecaster` that can be typed, for all commands that train."""

from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from sporadic.commands.data_options import Names, number_or_text, one_or_pairs, separated
from sporadic.errors import OptionError


@Parameter(name="*", group="Model and training")
@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Each field is the parameter of `Forecaster` of that name, with the same default."""

    hidden_size: int = 50
    """Size of the hidden state."""
    obs_size: int = 25
    """Width of the observation model."""
    prep_size: int = 10
    """How many numbers an observed variable brings to the update."""
    dropout: float = 0.0
    """Dropout in the observation model."""
    flow: str | None = None
    """How the state crosses a gap, such as exponential or dopri5; by default the model's own way."""
    likelihood: Names = None
    """gaussian (the default), auto, student-t, log-normal, mixture, binary, categorical, ordinal, poisson,
    negative-binomial, zero-inflated, binomial:20 or multinomial:group; or per variable, as in
    bili=log-normal,pain=ordinal:mild|severe, separated by commas."""
    joint: str | None = None
    """low-rank, or low-rank:3 with its rank: gaussian and log-normal variables are forecast together."""
    calendar: Names = None
    """Periods whose phase the model sees: year for datetimes, year=365.25 for numbers; separated by commas."""
    arrivals: bool | Literal["per-variable"] = False
    """Whether to learn also when observations come: --arrivals, or --arrivals=per-variable."""
    objective: Literal["nll", "beta-nll", "mixed"] = "nll"
    """The training loss; the last two heed the mean more."""
    kl_weight: float = 0.01
    """Weight of the post-jump loss."""
    kl: Literal["forward", "reverse"] = "forward"
    """Direction of the post-jump loss."""
    withheld: float = 0.0
    """Share of the time points that training only scores, and does not show to the model."""
    optimiser: Literal["adamw", "muon", "paper"] = "adamw"
    """AdamW or Muon with warm-up and cosine decay, or Adam as in the paper."""
    max_epochs: int = 50
    """Epochs at the most."""
    batch_size: int = 64
    """Series per training step."""
    learning_rate: float = 3e-3
    """The highest step size."""
    weight_decay: float = 1e-4
    """How fast weights shrink towards zero."""
    patience: int = 10
    """Epochs without a better validation score after which training stops."""
    averaging: float = 0.0
    """Epochs whose weights are averaged: the mean is validated and kept."""
    precision: Literal["float32", "float64"] = "float32"
    """Of all numbers in the model."""
    seed: Annotated[int, Parameter(negative=())] = 0
    """Of everything random."""

    def parameters(self) -> dict[str, Any]:
        """As `Forecaster` takes them."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return plain | {"likelihood": _likelihood(self.likelihood), "calendar": _calendar(self.calendar)}


def _likelihood(given: list[str] | None) -> Any:
    """One family, or a family per variable. Its options, after a colon, may have equals signs: grade=ordinal:<=5|>5."""
    from sporadic.likelihoods.kinds import KINDS

    words = separated(given) or ["gaussian"]
    options = {}
    for place, word in enumerate(words):
        head, colon, rest = word.partition(":")
        if colon and head.rpartition("=")[2] in KINDS:
            words[place], options[head.rpartition("=")[0]] = head, f":{rest}"
    chosen = one_or_pairs("--likelihood", words, "family", "bili=log-normal")
    if isinstance(chosen, str):
        return chosen + options.get("", "")
    return {name: kind + options.get(name, "") for name, kind in chosen.items()}


def _calendar(given: list[str] | None) -> Any:
    """Names of periods, or their lengths by name."""
    names = separated(given)
    if names is None or not any("=" in name for name in names):
        return names
    pairs = {name: number_or_text(length) for name, _, length in (each.rpartition("=") for each in names)}
    if "" in pairs:
        got = ", ".join(names)
        raise OptionError(f"--calendar takes names, or a length for each, as in year=365.25; got {got}.")
    return pairs


def share_out_over_cores() -> None:
    """Trains on all cores, unless JAX has started already in this process, as in a notebook."""
    from sporadic.training import use_all_cores

    with suppress(OptionError):
        use_all_cores()


DEFAULTS = ModelOptions()
