"""Control of live plants: the controller and its state, logs, and shadow mode."""
