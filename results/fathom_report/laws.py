"""Statistics of the report: drift, clusters, scaling laws. SciPy computes them."""

import math
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.cluster import hierarchy
from scipy.optimize import OptimizeWarning, curve_fit
from scipy.spatial import distance
from scipy.stats import gmean, spearmanr, t as student

CONFIDENCE = 0.95
MIN_STEPS = 10  # a shorter series is not tested for drift
MIN_RHO = 0.5  # a weaker trend is not drift, even if it is significant
AMDAHL_POINTS, USL_POINTS = 3, 4  # thread counts: one more than the law has parameters


def geometric_mean(values):
    return float(gmean(np.asarray(values, dtype=float)))


def cumulative_shares(times):
    """Percent of the sum in the largest 1, 2, 3, ... values of a series, indexed by the value added last."""
    times = times.sort_values(ascending=False, kind="stable")
    return 100 * times.cumsum() / times.sum()


def count_for(shares, share):
    """How many values reach a share, in percent; `shares` is a result of `cumulative_shares`."""
    return int((shares < share - 1e-9).sum()) + 1


# --- series over steps


def coefficient_of_variation(values):
    """Standard deviation divided by mean, in percent. NaN with fewer than two values."""
    values = np.asarray(values, dtype=float)
    return 100 * values.std(ddof=1) / values.mean() if len(values) > 1 else math.nan


@dataclass(frozen=True)
class Drift:
    """Spearman's rank correlation of time and step. It ignores the size of outliers and the shape of the trend."""

    rho: float
    p_value: float

    @property
    def found(self):
        return self.p_value < 1 - CONFIDENCE and abs(self.rho) >= MIN_RHO


def drift(values):
    """Tests whether a series rises or falls. None if it is too short. A constant series has no drift."""
    if len(values) < MIN_STEPS:
        return None
    if np.ptp(values) == 0:
        return Drift(0.0, 1.0)
    result = spearmanr(np.arange(len(values)), values)
    return Drift(float(result.statistic), float(result.pvalue))


# --- similarity of profiles


@dataclass(frozen=True)
class Clustering:
    linkage: np.ndarray  # as SciPy's, but heights are cosine distances of centroids
    names: list[str]

    @property
    def order(self):
        """The names in the order of the leaves of the dendrogram."""
        return [self.names[leaf] for leaf in hierarchy.leaves_list(self.linkage)]

    def groups(self, cut):
        """Lists of names that are joined below `cut`, in the order of the dendrogram."""
        numbers = hierarchy.fcluster(self.linkage, cut, criterion="distance")
        number = dict(zip(self.names, numbers))
        groups = {}
        for name in self.order:
            groups.setdefault(number[name], []).append(name)
        return list(groups.values())


def centroid_clustering(profiles):
    """Clusters the rows of a table by centroid linkage of their normalised vectors.

    Fathom combines cosine distance with centroid linkage, but SciPy's centroid linkage requires Euclidean
    distance. For vectors of length 1, both give the same order, d = sqrt(2 * cosine distance), so rows are normalised.
    Heights are then replaced by the cosine distances of the joined centroids.
    """
    vectors = profiles.to_numpy(dtype=float)
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    linkage = hierarchy.linkage(vectors, method="centroid", metric="euclidean")
    sums = list(vectors)  # a centroid has the direction of the sum of its members
    for joined in linkage:
        one, other = (sums[int(index)] for index in joined[:2])
        joined[2] = max(distance.cosine(one, other), 0)
        sums.append(one + other)
    return Clustering(linkage, list(profiles.index))


# --- time against threads


@dataclass(frozen=True)
class Amdahl:
    """T(n) = one * (serial + (1 - serial) / n)"""

    one: float  # time with one thread
    serial: float  # share that more threads don't shorten
    low: float  # confidence interval of `serial`
    high: float

    def time(self, threads):
        return amdahl_time(np.asarray(threads, dtype=float), self.one, self.serial)


@dataclass(frozen=True)
class Usl:
    """Gunther's universal scalability law: T(n) = one * (1 + sigma (n - 1) + kappa n (n - 1)) / n"""

    one: float
    sigma: float  # contention
    kappa: float  # coherence: the cost that grows with the number of pairs of threads

    def time(self, threads):
        return usl_time(np.asarray(threads, dtype=float), self.one, self.sigma, self.kappa)

    @property
    def best_threads(self):
        """The thread count with the shortest time. Infinite without coherence costs."""
        if self.kappa < 1e-6:
            return math.inf
        return math.sqrt(max(1 - self.sigma, 0) / self.kappa)


def amdahl_time(threads, one, serial):
    return one * (serial + (1 - serial) / threads)


def usl_time(threads, one, sigma, kappa):
    return one * (1 + sigma * (threads - 1) + kappa * threads * (threads - 1)) / threads


def fit_amdahl(threads, us):
    """Fits Amdahl's law. None with fewer than three distinct thread counts."""
    fitted = fit(amdahl_time, threads, us, [0.1], [1], AMDAHL_POINTS)
    if fitted is None:
        return None
    (one, serial), covariance = fitted
    freedom = max(len(threads) - 2, 1)
    half = student.ppf((1 + CONFIDENCE) / 2, freedom) * math.sqrt(covariance[1, 1])
    return Amdahl(one, serial, float(max(serial - half, 0)), float(min(serial + half, 1)))


def fit_usl(threads, us):
    """Fits the USL. None with fewer than four distinct thread counts."""
    fitted = fit(usl_time, threads, us, [0.1, 0.001], [1, 1], USL_POINTS)
    return None if fitted is None else Usl(*fitted[0])


def fit(law, threads, us, start, most, min_points):
    """Parameters in [0, most] and their covariance. Errors are relative, because noise grows with the time."""
    threads, us = np.asarray(threads, dtype=float), np.asarray(us, dtype=float)
    if len(set(threads)) < min_points or not (us > 0).all():
        return None
    scale = us.max()  # parameters of similar size make the fit converge
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimizeWarning)  # the covariance is then infinite
        best, covariance = curve_fit(
            law,
            threads,
            us / scale,
            p0=[1.0, *start],
            sigma=us / scale,
            bounds=([0] * (len(start) + 1), [np.inf, *most]),
        )
    best[0] *= scale
    return [float(value) for value in best], covariance


def doublings(first, last):
    """Number of doublings from `first` to `last`."""
    return math.log2(last / first)
