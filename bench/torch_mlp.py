#!/usr/bin/env python3
"""torch_mlp.py [THREADS] [BATCH] - the rival of bench/mlp.c: the same training
steps in PyTorch on the CPU (Debian: python3-torch), samples per second.

Rows are picked from 60000 x 784 floats by a permutation, as bench/mlp.c does it.
The least time of many steps; CPU time with one thread, wall time with more.
"""

import os
import sys
import time

THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 1
os.environ["OPENBLAS_NUM_THREADS"] = str(THREADS)  # torch does not tell it

import torch  # noqa: E402

N, INPUTS, CLASSES = 60000, 784, 10
NETS = ([100], [500, 300], [400, 400])


def network(hidden):
    layers, width = [], INPUTS
    for units in hidden:
        layers += [torch.nn.Linear(width, units), torch.nn.ReLU()]
        width = units
    return torch.nn.Sequential(*layers, torch.nn.Linear(width, CLASSES))


def optimisers(net):
    yield "momentum", torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
    yield "adam", torch.optim.Adam(net.parameters(), lr=1e-3)


def rate(net, optimiser, images, labels, batch, seconds):
    loss_of = torch.nn.CrossEntropyLoss()
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    order, at = torch.randperm(N), 0
    least, end = float("inf"), time.perf_counter() + seconds
    steps = 8  # the clock is read once for so many
    while time.perf_counter() < end:
        start = clock()
        for _ in range(steps):
            rows = order[at:at + batch]
            at = at + batch if at + 2 * batch <= N else 0
            optimiser.zero_grad()
            loss_of(net(images[rows]), labels[rows]).backward()
            optimiser.step()
        least = min(least, (clock() - start) / steps)
    return batch / least


def main():
    batch = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    torch.set_num_threads(THREADS)
    torch.manual_seed(1)
    images = torch.rand(N, INPUTS)
    labels = torch.randint(0, CLASSES, (N,))
    print(f"torch {torch.__version__}, {THREADS} threads, batch {batch}")
    for hidden in NETS:
        for name, optimiser in optimisers(net := network(hidden)):
            speed = rate(net, optimiser, images, labels, batch, 8.0)
            print(f"{str(hidden):12} {name:9} {speed:9.0f}", flush=True)


if __name__ == "__main__":
    main()
