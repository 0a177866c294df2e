"""What has been published, as printed: De Brouwer et al. (NeurIPS 2019), and later papers under the same protocol.

Each entry is (mse, nll); None where a paper gives no such number. docs/protocol.md, section 6, has the sources.
"""

OU = {
    "random-r": {
        "neural-ode-vae-mask": (0.081, 0.222),
        "neural-ode-vae": (0.085, 0.183),
        "gru-ode-bayes": (0.005, -1.260),
        "gru-ode-bayes-minimal": (0.005, -1.257),
        "gru-ode-bayes-seq": (0.005, -1.266),
        "gru-ode-bayes-seq-minimal": (0.005, -1.260),
    },
    "random-lag": {
        "neural-ode-vae-mask": (0.069, 0.223),
        "neural-ode-vae": (0.119, 0.230),
        "gru-ode-bayes": (0.005, -1.234),
        "gru-ode-bayes-minimal": (0.006, -1.226),
        "gru-ode-bayes-seq": (0.005, -1.225),
        "gru-ode-bayes-seq-minimal": (0.005, -1.225),
    },
    "independent": {
        "neural-ode-vae-mask": (0.081, 0.204),
        "neural-ode-vae": (0.113, 0.201),
        "gru-ode-bayes": (0.006, -1.187),
        "gru-ode-bayes-minimal": (0.006, -1.188),
        "gru-ode-bayes-seq": (0.006, -1.191),
        "gru-ode-bayes-seq-minimal": (0.006, -1.189),
    },
}

FORECAST = {
    "ushcn": {
        "neural-ode-vae": ("0.96 ± 0.11", "1.46 ± 0.10"),
        "neural-ode-vae-mask": ("0.83 ± 0.10", "1.36 ± 0.05"),
        "sequential-vae": ("0.83 ± 0.07", "1.37 ± 0.06"),
        "gru-simple": ("0.75 ± 0.12", "1.23 ± 0.10"),
        "gru-d": ("0.53 ± 0.06", "0.99 ± 0.07"),
        "t-lstm": ("0.59 ± 0.11", "1.67 ± 0.50"),
        "gru-ode-bayes": ("0.43 ± 0.07", "0.84 ± 0.11"),
    },
    "mimic3": {
        "neural-ode-vae": ("0.89 ± 0.01", "1.35 ± 0.01"),
        "neural-ode-vae-mask": ("0.89 ± 0.01", "1.36 ± 0.01"),
        "sequential-vae": ("0.92 ± 0.09", "1.39 ± 0.07"),
        "gru-simple": ("0.82 ± 0.05", "1.21 ± 0.04"),
        "gru-d": ("0.79 ± 0.06", "1.16 ± 0.05"),
        "t-lstm": ("0.62 ± 0.05", "1.02 ± 0.02"),
        "gru-ode-bayes": ("0.48 ± 0.01", "0.83 ± 0.04"),
        "gru-discretized-bayes": ("0.46 ± 0.05", "0.74 ± 0.04"),
    },
    "physionet2012": {"gru-ode-bayes": ("0.329 ± 0.004", None)},
}

LATER = {
    "ushcn": {
        "Neural Flow (GRU flow)": "0.414 ± 0.102",
        "NJ-ODE (large)": "0.40 ± 0.07",
        "mTAN": "0.300 ± 0.038",
        "LinODEnet": "0.300 ± 0.060",
        "CRU": "0.290 ± 0.060",
        "GraFITi": "0.272 ± 0.047",
    },
    "mimic3": {
        "CRU": "0.592 ± 0.049",
        "mTAN": "0.540 ± 0.036",
        "Neural Flow (GRU flow)": "0.477 ± 0.041",
        "LinODEnet": "0.446 ± 0.033",
        "GraFITi": "0.396 ± 0.030",
    },
    "physionet2012": {
        "CRU": "0.379",
        "Neural Flow (GRU flow)": "0.326",
        "mTAN": "0.315",
        "LinODEnet": "0.299",
        "GraFITi": "0.286 ± 0.001",
    },
}
"""Mean squared errors of models that came after the paper, on their own draws and splits."""

SMALL_SAMPLE = {
    "neural-ode-vae-mask": {1000: ("0.94 ± 0.01", "1.40 ± 0.01"), 2000: ("0.94 ± 0.01", "1.39 ± 0.005"),
                            None: ("0.89 ± 0.01", "1.35 ± 0.01")},
    "gru-discretized-bayes": {1000: ("0.87 ± 0.02", "1.35 ± 0.01"), 2000: ("0.77 ± 0.02", "1.20 ± 0.015"),
                              None: ("0.46 ± 0.05", "0.74 ± 0.04")},
    "gru-ode-bayes": {1000: ("0.77 ± 0.01", "1.23 ± 0.006"), 2000: ("0.72 ± 0.01", "1.13 ± 0.01"),
                      None: ("0.48 ± 0.01", "0.83 ± 0.04")},
}  # fmt: skip
"""On MIMIC-III, by the number of training patients; None is all of them. The paper's nll table says "Neural-ODE"."""

ABLATION = {"gru-ode-bayes": ("0.48 ± 0.01", "0.83 ± 0.04"), "gru-ode-bayes-mlp": ("0.54 ± 0.05", "1.05 ± 0.02")}
"""On MIMIC-III."""
