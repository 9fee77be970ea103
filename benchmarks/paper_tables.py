"""Print the tables of reproduce.md and scale.md in docs/explanation from a folder that `soqo reproduce` wrote.

soqo reproduce --out results
python benchmarks/paper_tables.py results claims      the claims and their verdicts
python benchmarks/paper_tables.py results readings    verdicts that hinge on the reading
python benchmarks/paper_tables.py results settings    regret in the appendix's 16 settings
python benchmarks/paper_tables.py results tails       the distribution of regret under Cauchy steps
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from soqo import Result
from soqo.experiments.judgment import trimmed_mean
from soqo.experiments.settings import Reading, describe_setting, find

COLUMNS = ("FTM", "POL", "OAL", "SCaLE as printed", "HySCaLE as printed", "SCaLE", "HySCaLE")
HINGES = (
    ("primary-scale-outperforms", Reading()),
    ("primary-scale-outperforms", Reading(gamma2="appendix", statistic="median")),
    ("primary-scale-outperforms", Reading(gamma2="guarantee", statistic="median")),
    ("primary-scale-outperforms", Reading(gamma2="guarantee", spectrum="linear_10", statistic="median")),
    ("primary-scale-outperforms", Reading(radius="residual")),
    ("primary-scale-outperforms", Reading(radius="residual", statistic="median")),
    ("primary-scale-outperforms", Reading(radius="residual", c1="elsewhere")),
    ("primary-outperform", Reading(radius="residual", gradient="exact", spectrum="linear_10", statistic="median")),
    ("primary-sublinear", Reading(statistic="median")),
    ("primary-sublinear", Reading(gamma2="guarantee", statistic="median")),
    ("primary-sublinear", Reading(radius="residual")),
    ("c1-constant", Reading(gamma2="guarantee")),
    ("c1-constant", Reading(gamma2="guarantee", statistic="median")),
    ("c1-u-shape", Reading(gamma2="guarantee")),
    ("c1-three", Reading(gamma2="guarantee")),
    ("theorem1-deficient", Reading(c1="elsewhere", statistic="median")),
    ("theorem1-deficient", Reading(gamma2="guarantee", c1="elsewhere", statistic="median")),
    ("theorem1-deficient", Reading(gamma2="guarantee", radius="residual", c1="elsewhere", statistic="median")),
    ("theorem1-deficient", Reading(gamma2="guarantee", c1="elsewhere")),
    ("cauchy-scale-wins", Reading(statistic="median")),
    ("cauchy-scale-wins", Reading(radius="residual", statistic="median")),
    ("cauchy-sublinear", Reading(statistic="median")),
    ("cauchy-sublinear", Reading(gamma2="guarantee", radius="exact", statistic="median")),
    ("rank-order-scale", Reading(c1="tuned", statistic="median")),
)
"""Claims whose verdict depends on the reading, with readings that decide them differently."""


def format_short(value: float) -> str:
    """Format a number with three digits."""
    return f"{value:.3g}".replace("e+0", "e").replace("e-0", "e-")


def print_claims(folder: Path) -> None:
    """Print a row for every claim."""
    found = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    print(f"{found['headline']}\n\n{found['finding']}\n")
    print(
        "| claim | kind | where | to the letter | holds | in part | fails | cannot be told | most charitable reading |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for claim in found["claims"]:
        counts = claim["counts"]
        literal = next((v["status"] for v in claim["verdicts"]), "not tested")
        if literal == "holds" and claim["unproved"]:
            literal = "not contradicted"
        best = describe(claim["charitable"]) if counts["holds"] and counts["holds"] < len(claim["verdicts"]) else ""
        numbers = (counts[status] for status in ("holds", "holds in part", "fails", "cannot be told"))
        print_row(claim["text"], claim["kind"], claim["source"], literal, *numbers, best)
    print()
    for claim in found["claims"]:
        if claim["note"]:
            print(f'- Beside the verdict on "{claim["text"]}": {claim["note"]}.')
    for claim in found["claims"]:
        if claim["untestable"]:
            print(f"- Not tested: {claim['text']}. The reason: {claim['untestable']}.")
    print()
    for section in found["sections"]:
        print(f"- {section['title']}: {section['summary']}.")


def print_row(*cells: object) -> None:
    """Print a row of a Markdown table; a vertical bar in it is escaped."""
    print(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |")


def describe(key: str) -> str:
    """Return a reading in words."""
    values = [None if value == "*" else value for value in key.split("/")]
    return Reading(*values).describe()


def print_readings(folder: Path) -> None:
    """Print a row for each reading that changes a verdict."""
    claims = {c["id"]: c for c in json.loads((folder / "claims.json").read_text(encoding="utf-8"))["claims"]}
    print("| claim | reading | verdict | numbers, with 95 % intervals over the runs |")
    print("|---|---|---|---|")
    for name, reading in HINGES:
        claim = claims[name]
        axes = [
            axis
            for axis, value in zip(
                ("gamma2", "radius", "gradient", "spectrum", "c1", "statistic"),
                claim["verdicts"][0]["reading"].split("/"),
                strict=True,
            )
            if value != "*"
        ]
        verdict = find_verdict(claim, reading.on(axes))
        numbers = "; ".join(format_case(case, len(verdict["cases"]) > 1) for case in verdict["cases"])
        print_row(claim["text"], reading.describe(), verdict["status"], numbers)


def find_verdict(claim: dict[str, Any], reading: Reading) -> dict[str, Any]:
    """Return the verdict of a reading; c1 elsewhere is that of the captions where the paper says nothing else."""
    for one in (reading, Reading(**{**dict(reading.items()), "c1": "captions"})):
        for verdict in claim["verdicts"]:
            if verdict["reading"] == one.key:
                return dict(verdict)
    raise LookupError(f"no verdict of {claim['id']} under {reading.key}")


def format_case(case: list[Any], named: bool) -> str:
    """Return a case's first number in words."""
    setting, _, numbers = case
    label, value, low, high = numbers[0]
    shown = "not positive" if value is None else format_short(value)
    if low is not None:
        shown += f" ({format_short(low)} .. {format_short(high)})"
    return f"{describe_setting(setting)}: {shown}" if named else f"{label} {shown}"


def print_settings(folder: Path) -> None:
    """Print the median and the mean regret in the appendix's settings, and exponents of the calibrated SCaLE."""
    print("median regret after 1000 rounds (mean), and exponents of SCaLE over T: as printed, calibrated")
    print("setting".ljust(20), *(column.rjust(20) for column in COLUMNS), " exponents")
    wins = {"SCaLE as printed": 0, "SCaLE": 0}
    for name in (setting.name for setting in find("appendix")):
        rows = list(csv.DictReader((folder / "tables" / f"{name}.csv").read_text(encoding="utf-8").splitlines()))
        own = {row["policy"]: row for row in rows if row["horizon"] == "1000"}
        cells = [f"{number(own[c], 'median')} ({number(own[c], 'mean')})".rjust(20) for c in COLUMNS]
        slopes = [exponent(rows, policy) for policy in ("SCaLE as printed", "SCaLE")]
        best = min(float(own[c]["median"]) for c in COLUMNS[:3])
        for policy in wins:
            wins[policy] += float(own[policy]["median"]) < best
        print(name.ljust(20), *cells, f" {slopes[0]:.2f}, {slopes[1]:.2f}")
    for policy, count in wins.items():
        print(f"{policy} has a lower median than FTM, POL and OAL in {count} of 16 settings")


def number(row: dict[str, str], key: str) -> str:
    """Return a number of a table with three digits."""
    return format_short(float(row[key]))


def exponent(rows: list[dict[str, str]], policy: str) -> float:
    """Return the slope of log median regret against log T."""
    own = {int(row["horizon"]): float(row["median"]) for row in rows if row["policy"] == policy}
    return float(np.polyfit(np.log(list(own)), np.log(np.maximum(list(own.values()), 1e-12)), 1)[0])


def print_tails(folder: Path) -> None:
    """Print quantiles and trimmed means of regret under Cauchy steps."""
    print("| setting | policy | 10 % | median | 90 % | trimmed mean | mean | share of the largest run |")
    print("|---|---|---|---|---|---|---|---|")
    for name in (setting.name for setting in find("heavy_tails")):
        result = Result.load(folder / "data" / f"{name}.nc")
        for policy in COLUMNS:
            regret = result.regret(policy)[:, -1]
            low, high = np.quantile(regret, [0.1, 0.9], method="inverted_cdf")
            values = (low, np.median(regret), high, float(trimmed_mean(regret)), regret.mean())
            share = np.abs(regret).max() / np.abs(regret).sum()
            shown = " | ".join(format_short(float(value)) for value in values)
            print(f"| {name} | {policy} | {shown} | {100 * share:.0f} % |")


def main() -> None:
    """Print one of the tables."""
    tables = {"claims": print_claims, "readings": print_readings, "settings": print_settings, "tails": print_tails}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("table", choices=list(tables))
    arguments = parser.parse_args()
    tables[arguments.table](arguments.folder)


if __name__ == "__main__":
    main()
