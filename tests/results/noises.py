"""Made-up noise of benchmark times, for trials of the verdicts of results/.

A noise makes factors around 1, one for each process in the order of their runs. The repetitions of a process share its
factor; `repetitions` adds what they differ by. Trials state the rates of false alarms and of missed changes under each.
"""

import numpy

SPREAD = 0.01  # standard deviation of the times of processes, where a noise has no other
WITHIN = 0.005  # of the repetitions of a process


def normal(random, processes):
    return SPREAD * random.standard_normal(processes)


def heavy_tailed(random, processes):
    """Student's t with three degrees of freedom, scaled to SPREAD."""
    return SPREAD * random.standard_t(3, processes) / numpy.sqrt(3)


def bimodal(random, processes):
    """Three of ten processes are 5 % slower, for instance by where their memory lies."""
    return 0.05 * (random.random(processes) < 0.3) + 0.2 * normal(random, processes)


def autocorrelated(random, processes, phi):
    """AR(1): each process keeps `phi` of the offset of the one before."""
    found = numpy.empty(processes)
    offset = SPREAD * random.standard_normal()
    for index in range(processes):
        found[index] = offset
        offset = phi * offset + numpy.sqrt(1 - phi**2) * SPREAD * random.standard_normal()
    return found


def sticky(random, processes):
    """Two modes that are 5 % apart; one of ten processes changes the mode."""
    mode = (random.random() < 0.5) + numpy.cumsum(random.random(processes) < 0.1)
    return 0.05 * (mode % 2) + 0.2 * normal(random, processes)


def drifting(random, processes):
    """A drift of 3 % from the first process to the last, such as of a machine that warms up."""
    return 0.03 * numpy.linspace(0, 1, processes) + normal(random, processes)


# Words of the pages, and the offsets of consecutive processes.
NOISES = {
    "normal, 1 %": normal,
    "heavy tails (t3), 1 %": heavy_tailed,
    "bimodal, 5 %": bimodal,
    "AR(1) 0.5, 1 %": lambda random, processes: autocorrelated(random, processes, 0.5),
    "AR(1) 0.8, 1 %": lambda random, processes: autocorrelated(random, processes, 0.8),
    "sticky modes, 5 %": sticky,
    "drift of 3 %": drifting,
}


def processes(name, random, count):
    """Factors of the times of `count` consecutive processes: [count]."""
    return numpy.exp(NOISES[name](random, count))


def repetitions(offsets, random, count):
    """Factors of the times of `count` repetitions in each process: [processes, count]."""
    return offsets[:, None] * numpy.exp(WITHIN * random.standard_normal((len(offsets), count)))
