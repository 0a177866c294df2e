"""All of `sporadic reproduce` in its quick modes: `make results-quick`.

Tables on real data are made from what lies in the folder that SPORADIC_DATA names (default ../shared/data), and left
out with a word where there is nothing. Everything is written to build/results; what is there from other code is
computed anew.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

OUT = Path("build") / "results"


def main() -> None:
    data = Path(os.environ.get("SPORADIC_DATA", Path(__file__).parents[2] / "shared" / "data"))
    _sporadic("reproduce", "ou-table", "--quick", "--fresh", "--out", OUT)
    _sporadic("reproduce", "figures", "--quick", "--fresh", "--out", OUT)
    if (data / "ushcn").is_dir():
        _sporadic("reproduce", "forecast-table", "--data", data / "ushcn", "--quick", "--fresh", "--out", OUT)
    else:
        print("USHCN is not at hand: Table 1 is left out.")
    if (data / "physionet2012").is_dir():
        _sporadic("prepare", "physionet2012", data / "physionet2012", "--out", OUT / "p12")
        for table in ("forecast-table", "small-sample", "ablation"):
            _sporadic("reproduce", table, "--data", OUT / "p12", "--quick", "--fresh", "--out", OUT)
    else:
        print("PhysioNet-2012 is not at hand: three of its tables are left out.")


def _sporadic(*words: object) -> None:
    print(f"\n$ sporadic {' '.join(map(str, words))}", flush=True)
    start = time.perf_counter()
    subprocess.run([str(Path(sys.executable).with_name("sporadic")), *map(str, words)], check=True)
    print(f"({(time.perf_counter() - start) / 60:.1f} min)", flush=True)


if __name__ == "__main__":
    main()
