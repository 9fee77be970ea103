"""Commands for simulated plants: a wind farm and a data center, steered by every policy."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from soqo import plants
from soqo._cli.command_group import CommandGroup
from soqo._cli.terminal import print_text, show_rounds

_Rounds = Annotated[int, typer.Option(min=1, help="The number of rounds.")]
_Seeds = Annotated[int, typer.Option(min=1, help="The number of runs.")]
_Out = Annotated[Path, typer.Option(metavar="DIR", help="The folder for the page, the costs and the pictures.")]


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(cls=CommandGroup, invoke_without_command=True)
    group.callback()(_show_help)
    for name, command in (("wind-farm", wind_farm), ("data-center", data_center)):
        group.command(name, epilog=f"Example: soqo plants {name} --rounds 2000 --out results/{name}")(command)
    app.add_typer(
        group,
        name="plants",
        help="Steer a simulated wind farm or data center with every policy, and write a page.",
        epilog="Example: soqo plants wind-farm",
        rich_help_panel="Plants",
    )


def _show_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print_text(context.get_help())


def wind_farm(
    trace: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A CSV file with the columns direction and speed, a row per 10 minutes."),
    ] = None,
    rounds: _Rounds = 1000,
    seeds: _Seeds = 2,
    wear: Annotated[float, typer.Option(help="The weight of turning, in kW/deg^2.")] = 2.0,
    floris: Annotated[
        bool, typer.Option("--floris", help="Use FLORIS with its GCH model as the plant (extra wind; slow).")
    ] = False,
    out: _Out = Path("results/wind-farm"),
) -> None:
    """Turn the turbines of a wind farm towards the wind.

    Without a trace, the wind is drawn by published statistics of 10-minute data.
    """
    farm = plants.WindFarm(wear=wear, wind=None if trace is None else plants.Wind.read(trace))
    _drive(replace(farm, model=plants.FlorisWake()) if floris else farm, rounds, seeds, out)


def data_center(
    trace: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A CSV file with the column utilization, a row per 5 minutes."),
    ] = None,
    rounds: _Rounds = 2016,
    seeds: _Seeds = 2,
    wear: Annotated[float, typer.Option(help="The weight of changing a set point, in kW/K^2.")] = 12.0,
    out: _Out = Path("results/data-center"),
) -> None:
    """Set the supply temperatures of the cooling units of a data center.

    Without a trace, the load has a daily cycle and bursts.
    """
    load = None if trace is None else plants.Load.read(trace)
    _drive(plants.DataCenter(wear=wear, load=load), rounds, seeds, out)


def _drive(plant: plants.Plant, rounds: int, seeds: int, out: Path) -> None:
    """Drive a plant, print the table, and write the page."""
    policies = plants.contenders(plant, rounds=rounds, seeds=seeds)
    with show_rounds(plant.title) as progress:
        result = plants.drive(
            plant,
            policies,
            rounds=rounds,
            seeds=seeds,
            progress=lambda done, total: progress(done, total, plant.title),
        )
    print_text(str(result))
    page = plants.write_page(result, out, command=shlex.join(["soqo", *sys.argv[1:]]))
    print_text(f"page: {page}")
