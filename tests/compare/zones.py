"""Time zones of sessions: offsets, named ones, and that of the server's process."""

import os

from program import run

ENVIRONMENT = {"TZ": "Europe/Berlin"}  # of the server: its SYSTEM zone
ZONES = ["SYSTEM", "+00:00", "+05:30", "-11:00", "+13:00", "MET", "MET", "Europe/Moscow", "Japan"]


def load_zones(server):
    """Fills the server's tables with the named ones."""
    tables = os.path.join(server.facts["mariadb_root"], "usr/share/mysql/mysql_test_data_timezone.sql")
    run([*server.client_program(), "mysql", f"--execute=source {tables}"], "loading time zones")


def random_zone(random):
    return random.choice(ZONES)
