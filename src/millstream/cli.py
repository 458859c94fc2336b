"""The command line: `millstream demo`, `bench`, `simulate`."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console

import millstream
from millstream.errors import MillstreamError

errors = Console(stderr=True, highlight=False)


def _show(result: dict[str, Any], as_json: bool) -> None:
    """A result: one JSON object as the last line of stdout, or for people."""
    if as_json:
        click.echo(json.dumps(result))
    else:
        Console().print_json(json.dumps(result))


def _progress(text: str) -> None:
    errors.print(text, style="dim", soft_wrap=True)


def _numbers(_: click.Context, __: click.Parameter, value: str) -> list[int]:
    try:
        numbers = [int(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter("takes whole numbers with commas between, such as 4,8,16") from None
    if any(number < 1 for number in numbers):
        raise click.BadParameter("every number must be at least 1")
    return numbers


json_option = click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON object, as the last line.")
positive = click.IntRange(min=1)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(millstream.__version__, prog_name="millstream")
@click.option("-v", "--verbose", is_flag=True, help="Log what slots and the coordinator do.")
def main(verbose: bool) -> None:
    """PySpark streaming queries in milliseconds, on the Spark cluster that you already have."""
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(message)s", level=logging.WARNING)
    logging.getLogger("millstream").setLevel(logging.INFO if verbose else logging.WARNING)


@main.command()
@click.option("--seconds", default=20.0, show_default=True, type=click.FloatRange(min=1), help="How long to run.")
@click.option("--rate", default=20_000, show_default=True, type=positive, help="Events a second.")
@click.option("--slots", default=2, show_default=True, type=positive, help="Resident slots.")
@click.option("--interval", default=10.0, show_default=True, type=click.FloatRange(min=1), help="Epoch, in ms.")
@click.option("--compare", is_flag=True, help="Afterwards the same query on Structured Streaming.")
def demo(seconds: float, rate: int, slots: int, interval: float, compare: bool) -> None:
    """Count advertisements' views by campaign, from a stream of JSON events, on a local Spark session."""
    from millstream.bench import demo as the_demo

    the_demo.run(seconds, rate, slots, interval / 1000, Console(), compare=compare)


@main.group()
def bench() -> None:
    """Measure on this machine."""


def _with_session(slots: int, measure: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    from millstream.api.session import local_session

    with errors.status(f"starting Spark with room for {slots} slots"):
        spark = local_session(slots)
    try:
        return measure(spark)
    finally:
        spark.stop()


@bench.command()
@click.option("--slots", default=8, show_default=True, type=positive)
@click.option("--epochs", default=300, show_default=True, type=positive, help="Epochs of each trial.")
@click.option("--repeat", default=5, show_default=True, type=positive, help="Trials of each job and mode.")
@click.option("--group-size", default=100, show_default=True, type=positive, help="Epochs of a group in grouped mode.")
@click.option("--spark-epochs", type=positive, help="Epochs of each spark trial, a tenth of the others' by default.")
@json_option
def coordination(
    slots: int, epochs: int, repeat: int, group_size: int, spark_epochs: int | None, as_json: bool
) -> None:
    """Milliseconds per epoch in modes spark, bsp, prescheduled and grouped: what coordination costs."""
    from millstream.bench import coordination as bench_coordination

    _show(_with_session(slots, lambda spark: bench_coordination.run(
        spark, slots=slots, epochs=epochs, repeat=repeat, group_size=group_size, spark_epochs=spark_epochs,
        progress=_progress,
    )), as_json)  # fmt: skip


@bench.command()
@click.option("--slots", default=4, show_default=True, type=positive)
@click.option("--interval", default=20.0, show_default=True, type=click.FloatRange(min=1), help="Epoch, in ms.")
@click.option("--seconds", default=20.0, show_default=True, type=click.FloatRange(min=1))
@click.option("--group-size", default=50, show_default=True, type=positive)
@json_option
def idle(slots: int, interval: float, seconds: float, group_size: int, as_json: bool) -> None:
    """CPU of a query without input, and the messages between driver and slots."""
    from millstream.bench import resources

    _show(_with_session(slots, lambda spark: resources.idle(
        spark, slots=slots, interval=interval / 1000, seconds=seconds, group_size=group_size
    )), as_json)  # fmt: skip


@bench.command()
@click.option("--slots", default=4, show_default=True, type=positive)
@click.option("--epochs", default=200_000, show_default=True, type=click.IntRange(min=1000))
@click.option("--group-size", default=100, show_default=True, type=positive)
@json_option
def memory(slots: int, epochs: int, group_size: int, as_json: bool) -> None:
    """Resident memory of driver and slots after a tenth of the epochs and after all, at full speed."""
    from millstream.bench import resources

    _show(_with_session(slots, lambda spark: resources.memory(
        spark, slots=slots, epochs=epochs, group_size=group_size, progress=_progress
    )), as_json)  # fmt: skip


def _names(_: click.Context, __: click.Parameter, value: str) -> list[str]:
    return [name.strip() for name in value.split(",")]


WORKLOAD_OPTIONS = [
    click.option("--max", "maximum", is_flag=True, help="Events per second from files, as fast as it goes."),
    click.option("--rate", type=positive, help="Final window latency at so many events a second."),
    click.option("--events", default=1_000_000, show_default=True, type=positive, help="With --max."),
    click.option("--files", default=8, show_default=True, type=positive, help="With --max: files of JSON lines."),
    click.option("--repeat", default=3, show_default=True, type=positive, help="With --max: trials of each engine."),
    click.option("--seconds", default=40, show_default=True, type=click.IntRange(min=4), help="With --rate."),
    click.option("--interval", default=10.0, show_default=True, type=click.FloatRange(min=1),
                 help="With --rate: Millstream's epoch, in ms."),
    click.option("--engines", default="millstream,structured-streaming", show_default=True, callback=_names,
                 help="Of millstream, millstream-no-partial, structured-streaming and, with --max, kernel."),
    click.option("--slots", default=2, show_default=True, type=positive),
    click.option("--window", help="Length of the windows, such as 1s or '10 seconds'; else the workload's own."),
    click.option("--udf", is_flag=True, help="With a Python function in the query."),
    click.option("--partial", default="on", show_default=True, type=click.Choice(["on", "off"]),
                 help="Partial aggregation before the exchange, of Millstream and the kernel."),
    click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Write a PNG."),
    json_option,
]  # fmt: skip


def _workload(name: str, help: str) -> None:
    """Add the command of one workload."""

    def command(**given: Any) -> None:
        from millstream.bench import compare

        plot, as_json = given.pop("plot"), given.pop("as_json")
        wanted = compare.Wanted(workload=name, **given)
        result = _with_session(wanted.slots, lambda spark: compare.run(spark, wanted, _progress))
        if plot is not None:
            from millstream.bench.plots import plot_comparison

            plot_comparison(result, plot)
            _progress(f"wrote {plot}")
        _show(result, as_json)
        if not result["results_equal"]:
            errors.print("the results are not Spark's own", style="red")
            sys.exit(1)

    for option in reversed(WORKLOAD_OPTIONS):
        command = option(command)
    bench.command(name=name, help=help)(command)


_workload("ysb", "The Yahoo streaming benchmark: views counted for each campaign and window.")
_workload("video", "Heartbeats of video players: a summary of each session; large records, skewed sessions.")
_workload("wordcount", "Words of short messages, counted over all time, or in windows with --window.")
_workload("sessions", "Sessions of a click stream; --window is the gap that ends one.")
_workload("grep", "Messages in which a pattern is found: no state, no exchange.")


@main.group()
def simulate() -> None:
    """Run the same coordinator and local schedulers in virtual time."""


@simulate.command(name="coordination")
@click.option("--machines", default="4,8,16,32,64,128", show_default=True, callback=_numbers, help="Cluster sizes.")
@click.option("--slots-per-machine", default=4, show_default=True, type=positive)
@click.option("--group-size", default=20, show_default=True, type=positive)
@click.option("--costs", type=click.Path(dir_okay=False, path_type=Path),
              help="Read measured costs from this file, or measure and write them if it does not exist.")  # fmt: skip
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Write a PNG.")
@json_option
def simulate_coordination(
    machines: list[int], slots_per_machine: int, group_size: int, costs: Path | None, plot: Path | None, as_json: bool
) -> None:
    """Milliseconds per epoch on clusters of many machines, with costs measured on this one."""
    from millstream.bench import calibrate
    from millstream.simulate import coordination as simulated

    measured = calibrate.measured(costs, _progress)
    result = simulated.run(machines, slots_per_machine, group_size, measured, _progress)
    if plot is not None:
        from millstream.bench.plots import plot_coordination

        plot_coordination(result, plot)
        _progress(f"wrote {plot}")
    _show(result, as_json)


@simulate.command()
@click.option("--seeds", default=300, show_default=True, type=positive, help="How many runs.")
@click.option("--first", default=0, show_default=True, type=click.IntRange(min=0), help="The first seed.")
@click.option("--seed", type=click.IntRange(min=0), help="Replay one seed and print what happened.")
@click.option("--workers", default=2, show_default=True, type=positive, help="Processes.")
@json_option
def faults(seeds: int, first: int, seed: int | None, workers: int, as_json: bool) -> None:
    """Unlucky runs: for every seed, the output must equal that of a run without faults."""
    from millstream.simulate import faults as simulated

    if seed is not None:
        outcome = simulated.run_seed(seed, keep_trace=True)
        for line in outcome.trace:
            _progress(line)
        failed = [{"seed": seed, "problem": outcome.problem}] if outcome.problem else []
        counts = {kind: outcome.faults[kind] for kind in simulated.KINDS}
        result: dict[str, Any] = {
            "simulate": "faults",
            "seeds": 1,
            "failed": failed,
            "epochs": outcome.epochs,
            "faults": counts,
        }
    else:
        with errors.status("") as status:
            result = simulated.run_seeds(seeds, first, workers, lambda done: status.update(f"{done} of {seeds} seeds"))
    for failure in result["failed"]:
        errors.print(f"seed {failure['seed']}: {failure['problem']}", style="red")
    _show(result, as_json)
    if result["failed"]:
        sys.exit(1)


def run() -> None:
    """The console script: errors that have a remedy are shown without a traceback."""
    try:
        main(standalone_mode=False)
    except MillstreamError as error:
        errors.print(f"millstream: {error}", style="red", soft_wrap=True)
        sys.exit(1)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        errors.print("interrupted")
        sys.exit(130)


if __name__ == "__main__":
    run()
