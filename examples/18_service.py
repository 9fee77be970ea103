"""Teaches: plants over the network: a server, a client with the methods of a controller, and a crash on the way.

Needs the extra `service`. The same server is started from a shell with `soqo serve`.
"""

import socket
import subprocess
import sys
import tempfile

import numpy as np

import soqo

A = np.array([[1.0, 0.2], [0.2, 0.5]])


def start_server(store: str, port: int) -> subprocess.Popen[bytes]:
    """Start `soqo serve` as a program of its own; it listens to this machine only, and so needs no tokens."""
    command = [sys.executable, "-m", "soqo", "serve", "--store", store, "--port", str(port)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def measure(x: np.ndarray, v: np.ndarray, rng: np.random.Generator) -> float:
    """The meter of the plant."""
    return float(0.5 * (x - v) @ A @ (x - v) + 0.05 * rng.normal())


with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]

with tempfile.TemporaryDirectory() as folder:
    store = f"{folder}/plants.sqlite"
    server = start_server(store, port)
    rng, v = np.random.default_rng(0), np.array([20.0, 20.0])
    controller = soqo.Controller(soqo.GLIDE(), x0=[20.0, 20.0], low=16.0, high=27.0)  # beside it, to compare
    same = []
    with soqo.Client(f"http://127.0.0.1:{port}") as client:  # it waits until the server answers
        plant = client.create("roof", soqo.GLIDE(), x0=[20.0, 20.0], low=16.0, high=27.0)
        for number in range(1, 31):
            v = np.clip(v + rng.normal(scale=0.5, size=2), 16.0, 27.0)
            x = plant.act(v)
            if number == 20:
                server.kill()  # between an action and its reading, without a warning
                server.wait()
                server = start_server(store, port)
            y = measure(x, v, rng)
            plant.observe(y)  # repeated until the new server has it
            same.append(np.array_equal(x, controller.act(v)))
            controller.observe(y)
        print(f"{plant.round} rounds, {plant.diagnostics()['missed']} without a reading; the server was killed once")
        print(f"every action is that of a controller in this program, bit for bit: {all(same)}")
        print(f"it says the same: {plant.explain() == controller.explain()}")
        try:
            plant.act([22.0])
        except soqo.errors.ArgumentError as error:
            print(f"refused: {error}")
    server.terminate()
    server.wait()
