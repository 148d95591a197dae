"""The engines of the analytic benchmark, and how each is asked."""

import dataclasses

THREADS = (1, 2)
LONG = 5  # seconds: a statement that takes longer runs once, and no setup repeats one for longer
LIBRARIES = ("DuckDB", "ClickHouse")  # in the caller's process, with threads that it chooses


@dataclasses.dataclass(frozen=True)
class Setup:
    engine: str
    threads: int = 1
    pushdown: str = "AUTO"

    @property
    def title(self):
        if self.engine == "HAILSTONE":
            return "Hailstone OFF" if self.pushdown == "OFF" else f"Hailstone {self.pushdown}, {threads_of(self.threads)}"
        return f"{self.engine}, {threads_of(self.threads)}" if self.engine in LIBRARIES else self.engine

    def database(self, schema):
        """Of the server."""
        return f"{schema}_{self.engine.lower()}"


AUTO = {threads: Setup("HAILSTONE", threads) for threads in THREADS}
OFF = Setup("HAILSTONE", pushdown="OFF")  # the server evaluates by one thread
DUCKDB, CLICKHOUSE = ({threads: Setup(engine, threads) for threads in THREADS} for engine in LIBRARIES)


def threads_of(count):
    return "1 thread" if count == 1 else f"{count} threads"
