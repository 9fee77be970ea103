"""What every package uses: validation, value equality, random streams, intervals, fast reductions."""
