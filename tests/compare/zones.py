"""What the server's process has around it: its time zone, those of sessions, which are offsets and named ones, and memory that is overwritten once it is freed."""

import glob
import os

from program import run

# Of the server: its SYSTEM zone; and what glibc writes into memory that is freed, and, inverted, into what is asked for.
OVERWRITTEN = {"MALLOC_PERTURB_": "165"}
ENVIRONMENT = {"TZ": "Europe/Berlin", **OVERWRITTEN}
ZONES = ["SYSTEM", "+00:00", "+05:30", "-11:00", "+13:00", "MET", "MET", "Europe/Moscow", "Japan"]


def load_zones(server):
    """Fills the server's tables with the named ones."""
    share = os.path.join(server.facts["mariadb_root"], "usr/share")
    # The name differs between the server's series.
    [tables] = glob.glob(os.path.join(share, "m*/m*_test_data_timezone.sql"))
    run([*server.client_program(), "mysql", f"--execute=source {tables}"], "loading time zones")


def random_zone(random):
    return random.choice(ZONES)
