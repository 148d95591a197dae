"""A private server as the primary of another one: what the tests and benchmarks of replication share."""

import socket
import time

from program import Failure

USER = "replicates"
PASSWORD = "replicates"
LAST_ERRORS = (35, 37)  # columns of SHOW SLAVE STATUS: Last_IO_Error, Last_SQL_Error


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def address_options(port):
    """Of a server that listens on the machine's own address."""
    return ["--skip-name-resolve", "--bind-address=127.0.0.1", "--skip-networking=0", f"--port={port}"]


def network_options(port, server_id):
    """Of a server that listens on the machine's own address and writes a binary log."""
    return [*address_options(port), "--log-bin=binlog", f"--server-id={server_id}"]


def admit_replicas(connection):
    """Makes the replicas' account, not in the binary log."""
    connection.execute("SET SESSION sql_log_bin=0")
    # The servers listen on the machine's own address: no account there without a password.
    connection.execute("DELETE FROM mysql.global_priv WHERE host<>'localhost'")
    connection.execute(f"GRANT REPLICATION SLAVE ON *.* TO {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
    connection.execute("FLUSH PRIVILEGES")
    connection.execute("SET SESSION sql_log_bin=1")


def follow(replica, port):
    """Tells a replica that its primary listens on that port; it is not started."""
    replica.execute(f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='{USER}', "
                    f"MASTER_PASSWORD='{PASSWORD}', MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1")


def replica_error(replica):
    """What has stopped the replica, or keeps it from its primary; empty when nothing does."""
    status = replica.execute("SHOW SLAVE STATUS")[0]
    return "; ".join(status[column] for column in LAST_ERRORS if status[column])


def catch_up(replica, position, longest=60):
    """Waits so many seconds at most until the replica has applied all up to a position; the seconds that it took."""
    begun = time.monotonic()
    while replica.execute(f"SELECT MASTER_GTID_WAIT('{position}', 2)")[0][0] != 0:
        error = replica_error(replica)
        if error or time.monotonic() - begun > longest:
            threads = "; ".join(f"{command}: {state} ({info})" for command, state, info in replica.execute(
                "SELECT command, state, info FROM information_schema.processlist WHERE user='system user'"))
            raise Failure(f"the replica does not reach {position}: it is at "
                          f"{replica.execute('SELECT @@global.gtid_slave_pos')[0][0]}; {error or threads}")
    return time.monotonic() - begun
