"""The store of finished cells: a folder with a file for each of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from soqo._simulation.result import Result
from soqo.errors import FileFormatError
from soqo.experiments.execution._cells import Cell, CellResult
from soqo.experiments.execution._regrets import Regrets


@dataclass(frozen=True)
class CellStore:
    """A folder with the results of finished cells, each a file that is written atomically.

    Parameters
    ----------
    folder : Path
        The folder, which must exist.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from soqo.experiments.execution import split_into_cells
    >>> from soqo.experiments.settings import find
    >>> cell = split_into_cells(find("intro")[0])[0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(CellStore(Path(folder)).load(cell))
    None
    """

    folder: Path

    def path(self, cell: Cell) -> Path:
        """Return the file of a cell.

        Parameters
        ----------
        cell : Cell
            The cell.
        """
        return self.folder / f"{cell.key}{'.npz' if cell.kept == 'regrets' else '.nc'}"

    def load(self, cell: Cell) -> CellResult | None:
        """Return what is stored of a cell, or None.

        A file that is damaged, or that holds the result of another cell, is renamed, and the cell computed again.

        Parameters
        ----------
        cell : Cell
            The cell. The result may lack some of its policies, and have others.
        """
        path = self.path(cell)
        try:
            kind = Regrets if cell.kept == "regrets" else Result
            found: CellResult = kind.load(path, key=cell.key)
        except FileNotFoundError:
            return None
        except FileFormatError:
            pass
        else:
            if _fits(cell, found):
                return found
        os.replace(path, path.with_suffix(".damaged"))
        return None

    def save(self, cell: Cell, result: CellResult) -> None:
        """Store the result of a cell.

        Parameters
        ----------
        cell : Cell
            The cell.
        result : Result or Regrets
            Its result.
        """
        result.save(self.path(cell), key=cell.key)


def _fits(cell: Cell, found: CellResult) -> bool:
    """Return whether a file holds as many runs and rounds as the cell."""
    if isinstance(found, Regrets):
        return found.runs == cell.runs
    rounds = cell.horizon if cell.kept == "rounds" else 1
    return found.benchmark_hitting.shape == (cell.runs, rounds)
