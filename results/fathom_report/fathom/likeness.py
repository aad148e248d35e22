"""Fathom's Fig. 4: which training steps spend their time in the same op types."""

import numpy as np
import pandas as pd
from scipy.cluster import hierarchy

from fathom_page import hints, marks, palette, style
from fathom_page.distances import cosine_distances
from fathom_page.figure import Figure, Missing
from fathom_page.hints import TRAIN
from fathom_report import laws
from fathom_report.hints import profile
from fathom_report.selection import training_ops
from fathom_runs.words import listed

NAME = ("fathom-4", "Similarity of the workloads", "Fathom, Fig. 4")
CUT = 0.3  # cosine distance; steps with a smaller distance are one group
MANY = 10  # workloads
QUICK = ("memnet", "autoenc")  # workloads whose steps take milliseconds


def figure(run):
    ops, words = training_ops(run)
    if ops is None:
        return Missing(*NAME, profile(run))
    profiles = ops.pivot_table(
        index="workload", columns="type", values="us", fill_value=0, sort=False
    )
    if len(profiles) < 2:
        wanted = hints.command([*ops.workload, *QUICK], run.contexts, [TRAIN], "--fathom_profile")
        return Missing(*NAME, f"op types of at least two workloads' training steps: {wanted}")
    distances = cosine_distances(profiles)
    clustering = laws.centroid_clustering(profiles)
    groups = clustering.groups(CUT)
    group = {name: number for number, names in enumerate(groups, 1) for name in names}
    data = pd.DataFrame(
        [
            {
                "workload": one,
                "other": other,
                "cosine_distance": distances.loc[one, other],
                "group": group[one],
                "group_of_other": group[other],
            }
            for one in clustering.order
            for other in clustering.order
        ]
    )
    return Figure(
        *NAME,
        sentence(distances, groups, leading_class(ops), words),
        data,
        lambda figure: draw(figure, distances, clustering),
    )


def leading_class(ops):
    sums = ops.groupby(["workload", "op_class"]).us.sum().unstack(fill_value=0)
    return sums.idxmax(axis=1)


def sentence(distances, groups, classes, words):
    upper = distances.where(np.triu(np.ones(distances.shape, dtype=bool), 1)).stack().dropna()
    near, far = upper.idxmin(), upper.idxmax()
    named = []
    for names in groups:
        kinds = dict.fromkeys(palette.class_words(classes[name]) for name in names)
        named.append(f"{listed(names)} ({listed(kinds)})")
    groups_words = (
        f"are one group: {named[0]}"
        if len(groups) == 1
        else f"form {len(groups)} groups: {'; '.join(named)}"
    )
    text = (
        f"Cut at a cosine distance of {CUT:g}, the {len(distances)} training steps {groups_words}. "
    )
    if len(distances) == 2:
        return text + f"Their distance is {distance_words(upper.iloc[0])}. Setting: {words}."
    return text + (
        f"The most similar are {listed(near)} ({distance_words(upper.min())}), the least similar {listed(far)} "
        f"({distance_words(upper.max())}). Setting: {words}."
    )


def distance_words(distance):
    return f"{distance:.2f}" if distance >= 0.005 else "below 0.005"


def cell_words(distance, columns):
    """Two digits. Where many columns leave little room, without the zero before the point: .97, but 0 and 1."""
    words = f"{distance:.2f}"
    if columns <= MANY:
        return words
    return words[0] if words.endswith(".00") else words.lstrip("0")


def draw(figure, distances, clustering):
    order = clustering.order
    count = len(order)
    tree, cells = style.axes(
        figure, 1.5 + 0.36 * count, 1, 2, sharey=True, gridspec_kw={"width_ratios": [1, 1.7]}
    )[0]
    # SciPy puts the leaves at 5, 15, 25, ...
    drawn = hierarchy.dendrogram(clustering.linkage, no_plot=True)
    for across, along in zip(drawn["dcoord"], drawn["icoord"]):
        tree.plot(across, (np.array(along) - 5) / 10, color=style.INK, linewidth=1.2)
    tree.axvline(CUT, color=palette.SECOND, linewidth=1, linestyle="--")
    tree.annotate(
        f"cut {CUT:g}", (CUT, -0.5), (0, 2), textcoords="offset points", color=palette.SECOND
    )
    tree.invert_xaxis()
    tree.set_xlabel("cosine distance of centroids\n(normalised profiles)")
    tree.spines["left"].set_visible(False)
    for y, one in enumerate(order):
        for x, other in enumerate(order):
            value = distances.loc[one, other]
            colour = style.faded(palette.FIRST, 0.8 * (1 - value))
            marks.cell(cells, x, y, colour, cell_words(value, count))
    cells.set_xlim(-0.5, count - 0.5)
    cells.set_ylim(count - 0.5, -0.5)
    marks.name_axes(cells, order, order)
    tree.tick_params(axis="y", length=0, labelleft=False)
    cells.set_xlabel("cosine distance of profiles: 0 same shares, 1 no common op type")
