"""The networks of made-up runs: two with convolutions, two with recurrent cells, one with small ops.

The time of each op type follows a scaling law with the parameters below, so tests know the groups, fits and sums of a
report.
"""

CLASSES = {
    "conv2d": "convolution",
    "matmul": "matrix",
    "lstm_cell": "matrix",
    "relu": "elementwise",
    "mul": "elementwise",
    "softmax": "reduction",
    "dropout": "random",
    "momentum": "optimization",
    "embedding": "data_movement",
    "framework": "framework",
    "view": "framework",
}

# Microseconds of each op type in a training step with one thread.
PROFILES = {
    "alexnet": {
        "conv2d": 6000,
        "matmul": 2000,
        "relu": 1000,
        "dropout": 500,
        "momentum": 400,
        "framework": 100,
    },
    "vgg": {"conv2d": 70000, "matmul": 15000, "relu": 10000, "momentum": 4500, "framework": 500},
    "seq2seq": {"lstm_cell": 7000, "matmul": 2000, "embedding": 500, "mul": 400, "framework": 100},
    "speech": {"lstm_cell": 60000, "matmul": 25000, "softmax": 10000, "framework": 5000},
    "memnet": {"mul": 300, "embedding": 300, "softmax": 200, "view": 50, "framework": 150},
}
GROUPS = [{"alexnet", "vgg"}, {"memnet"}, {"seq2seq", "speech"}]

# Serial share of the time of each op type (Amdahl's law).
SERIAL = {"conv2d": 0.02, "matmul": 0.05, "lstm_cell": 0.1, "relu": 0.2, "momentum": 0.5}
SERIAL |= {"mul": 0.2, "softmax": 0.3, "dropout": 0.4, "embedding": 0.6, "framework": 1, "view": 1}
# Multiplications in memnet have contention and coherence costs (USL): sigma, kappa.
CONTENTION = {("memnet", "mul"): (0.05, 0.02)}

BATCH = {"alexnet": 64, "vgg": 8, "seq2seq": 64, "speech": 32, "memnet": 32}  # Fathom's batch sizes


def type_us(workload, op_type, threads=1):
    """Microseconds of an op type in a training step at Fathom's batch."""
    us = PROFILES[workload][op_type]
    if (workload, op_type) in CONTENTION:
        sigma, kappa = CONTENTION[workload, op_type]
        return us * (1 + sigma * (threads - 1) + kappa * threads * (threads - 1)) / threads
    return us * (SERIAL[op_type] + (1 - SERIAL[op_type]) / threads)


def step_us(workload, threads=1):
    return sum(type_us(workload, op_type, threads) for op_type in PROFILES[workload])
