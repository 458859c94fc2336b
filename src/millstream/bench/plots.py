"""Figures as PNG files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

COLOURS = {"spark": "#d1495b", "prescheduled": "#edae49", "grouped": "#00798c", "bsp": "#66a182"}


def plot_coordination(result: dict[str, Any], path: Path) -> None:
    """Time per epoch against the number of machines, for both jobs."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
    for axis, (job, title) in zip(axes, (("single_stage", "one stage"), ("two_stage", "two stages, 16 reducers"))):
        for mode, values in result[job].items():
            axis.plot(result["machines"], values, marker="o", label=mode, color=COLOURS[mode])
            axis.annotate(f"{values[-1]:.3g}", (result["machines"][-1], values[-1]), xytext=(6, -3),
                          textcoords="offset points", fontsize=8)  # fmt: skip
        axis.set(title=title, xlabel=f"machines of {result['slots_per_machine']} slots", xscale="log", yscale="log")
        axis.set_xticks(result["machines"], [str(m) for m in result["machines"]], minor=False)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("ms per epoch")
    axes[1].legend(frameon=False)
    figure.suptitle("Coordination, simulated with costs measured on one machine", fontsize=10)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def plot_comparison(result: dict[str, Any], path: Path) -> None:
    """Events per second of each engine, or how its final window latencies are distributed."""
    figure, axis = plt.subplots(figsize=(6, 3.6))
    if result["mode"] == "max":
        names = list(result["engines"])
        axis.barh(names, [result["engines"][name]["events_per_s"] for name in names], color="#00798c")
        axis.set(xlabel="events per second, from files")
    else:
        for name, engine in result["engines"].items():
            late = sorted(engine["latencies_ms"])
            axis.step(late, [(i + 1) / len(late) for i in range(len(late))], where="post", label=name)
        axis.set(xlabel="final window latency, ms", ylabel="share of windows", xscale="log", ylim=(0, 1.02))
        axis.legend(frameon=False)
    axis.grid(alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)
    axis.set_title(_title(result), fontsize=10)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _title(result: dict[str, Any]) -> str:
    size = f"{result['events']:,} events" if result["mode"] == "max" else f"{result['rate']:,} events/s"
    return f"{result['bench']}, {size}, {result['slots']} slots"
