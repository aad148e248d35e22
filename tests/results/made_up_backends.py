"""Made-up steps on other backends than LibTorch's, and in other formats than fp32."""

SHARES = {"onednn": 0.9, "tuned": 0.6}  # time of a step / its time on torch
RATES = ("items_per_second", "flops", "flops_pct_peak")


def on(backend, rows, share):
    """Steps, and op types inside them, on another backend. They take `share` of the time on torch."""
    return faster(rows, share, "backend:torch", f"backend:{backend}")


def in_format(precision, rows, share, **fields):
    """Steps in another format. They take `share` of the time in fp32, and have these fields."""
    made = faster(rows, share, "precision:fp32", f"precision:{precision}")
    return [row | fields for row in made]


def faster(rows, share, old, new):
    """The rows with another part of the name, and with `share` of their time."""
    made = []
    for row in rows:
        name = row["name"].replace(old, new)
        changed = {key: value / share for key, value in row.items() if key in RATES}
        changed |= {key: value * share for key, value in row.items() if is_time(key)}
        made.append(row | changed | {"name": name, "run_name": name})
    return made


def on_all(rows, shares=None):
    """The rows on every backend of `shares`."""
    return [
        row for backend, share in (shares or SHARES).items() for row in on(backend, rows, share)
    ]


def is_time(key):
    return key in ("real_time", "cpu_time") or key.endswith("_us")
