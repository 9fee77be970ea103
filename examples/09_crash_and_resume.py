"""Teaches: a journal, from which a controller resumes after a crash, bit for bit.

A process steers a plant and is killed without warning. Another process resumes from the journal, in the same round, and
plays the same actions as a controller that was never interrupted.
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import soqo

PLANT = """
import sys, numpy as np, soqo
controller = soqo.Controller(soqo.GLIDE(), x0=np.zeros(2), journal=sys.argv[1])
for t in range(1000):
    x = controller.act(np.sin([0.1 * t, 0.07 * t]))
    print(t, flush=True)                     # the plant moves
    controller.observe(0.1)
"""


def target(t: int) -> np.ndarray:
    """Return the minimizer of round t, counted from 0."""
    return np.sin([0.1 * t, 0.07 * t])


with tempfile.TemporaryDirectory() as folder:
    journal = Path(folder) / "plant.journal"
    process = subprocess.Popen([sys.executable, "-c", PLANT, journal], stdout=subprocess.PIPE)
    assert process.stdout is not None
    while int(process.stdout.readline()) < 100:
        pass
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()

    controller = soqo.Controller.resume(journal)
    print(f"resumed with at least 100 rounds: {controller.round >= 100}")
    if controller.pending is not None:  # the plant may not have received this action: apply it (again)
        controller.observe(0.1)
    while controller.round < 300:
        x = controller.act(target(controller.round))
        controller.observe(0.1)

    uninterrupted = soqo.Controller(soqo.GLIDE(), x0=np.zeros(2))
    for t in range(300):
        expected = uninterrupted.act(target(t))
        uninterrupted.observe(0.1)
    print(f"round {controller.round}: bit-identical action: {np.array_equal(x, expected)}")

    # A single file holds the complete state, to continue on another machine.
    saved = controller.save(Path(folder) / "plant.soqo")
    again = soqo.Controller.load(saved)
    print(f"loaded: round {again.round}, x = {again.x.round(3).tolist()}")

    # A journal has one writer at a time, and damage is distinguished from a crash.
    refused = subprocess.run(
        [sys.executable, "-c", f"import soqo; soqo.Controller.resume({str(journal)!r})"],
        capture_output=True,
        text=True,
        check=False,
    )
    print("a second process: " + refused.stderr.splitlines()[-1].split(": ")[0])
    middle = journal.stat().st_size // 2
    controller.close()
    data = bytearray(journal.read_bytes())
    data[middle] ^= 1
    journal.write_bytes(data)
    try:
        soqo.Controller.resume(journal, verify=True)
    except soqo.errors.FileFormatError as error:
        print(f"one bit flipped: {str(error).split(': ', 1)[1].split(',')[0]}")
