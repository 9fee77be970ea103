"""Policies: how to play a round. `base` is the contract, one file per family."""
