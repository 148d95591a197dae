# shellcheck shell=bash
# Sourced, after mariadb-files.sh: starts and stops private servers, each in a folder of its own under $server_home.
# A server listens on a unix socket only, in a folder that no other user may enter (its root account has no password).
# HAILSTONE_PLUGIN=FOLDER in the environment makes it load the plugin of another build.

# set_server NAME: the paths of one server.
set_server() {
  server_folder=$server_home/$1
  server_data=$server_folder/data
  server_log=$server_folder/error.log
  server_socket=$server_folder/mariadb.sock
  # The kernel takes socket paths of at most 107 bytes.
  if [ ${#server_socket} -gt 100 ]; then
    server_socket=/tmp/hailstone-$(printf %s "$server_folder" | sha256sum | cut -c1-12)/mariadb.sock
  fi
}

as_server() { "${server_prefix[@]}" "$@"; }

# Makes a folder that only the server's user may enter.
private_folder() {
  [ -d "$1" ] || as_server mkdir -m 700 "$1" 2>/dev/null || mkdir -m 700 "$1"
  [ -z "$server_user" ] || chown "$server_user:nogroup" "$1"
  [ ! -L "$1" ] && as_server test -O "$1" && chmod 700 "$1" || die "the folder $1 belongs to another user; remove it"
}

# The process of the server, if it runs: the pid file alone could name a later, foreign process.
server_pid() {
  local pid
  pid=$(cat "$server_folder/mariadbd.pid" 2>/dev/null) && [ -n "$pid" ] &&
    tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -xF -- "--datadir=$server_data" >/dev/null && echo "$pid"
}

# set_running_server: the paths of the server that ./run server has started, with its own tables or the demo's; fails
# when none runs.
set_running_server() {
  local name
  for name in server demo; do
    set_server "$name"
    ! server_pid >/dev/null || return 0
  done
  return 1
}

server_answers() {
  "$mariadb_root/usr/bin/mariadb-admin" --no-defaults --socket="$server_socket" --user=root --connect-timeout=5 \
    ping >/dev/null 2>&1
}

# start_server NAME [MARIADBD-OPTION...]
start_server() {
  set_server "$1"
  shift
  local pid
  mkdir -p "$(dirname "$server_folder")"
  private_folder "$server_folder"
  private_folder "$(dirname "$server_socket")"
  private_folder "$server_folder/tmp"
  ! pid=$(server_pid) || die "the server in $server_folder is already running (process $pid)"
  # Copies, so that a later build does not change the files under a running server.
  rm -rf "$server_folder/plugin"
  mkdir -m 755 "$server_folder/plugin"
  cp "${HAILSTONE_PLUGIN:-$build/release/plugin}"/*.so "$server_folder/plugin/"
  if [ ! -d "$server_data/mysql" ]; then
    rm -rf "$server_data"
    private_folder "$server_data"
    (cd "$server_folder" && as_server "$mariadb_root/usr/bin/mariadb-install-db" --no-defaults \
      --basedir="$mariadb_root/usr" --datadir="$server_data" --auth-root-authentication-method=normal \
      --skip-test-db --force >"$build/logs/install-db.log" 2>&1) ||
      { rm -rf "$server_data"; die "mariadb-install-db failed; its output is in $build/logs/install-db.log"; }
  fi
  rm -f "$server_socket" "$server_folder/mariadbd.pid"
  (
    cd "$server_folder" || exit 1
    # A write past a limit on the length of files then fails as on a full disk, and does not end the server.
    trap '' XFSZ
    exec setsid "${server_prefix[@]}" "$mariadbd" --no-defaults --basedir="$mariadb_root/usr" \
      --datadir="$server_data" --socket="$server_socket" --pid-file="$server_folder/mariadbd.pid" \
      --log-error="$server_log" --tmpdir="$server_folder/tmp" --skip-networking --plugin-dir="$server_folder/plugin" \
      --plugin-load-add=ha_hailstone "$@" </dev/null >>"$server_folder/output.log" 2>&1
  ) &
  local child=$! waited=0
  until server_answers; do
    # Recovery after a crash may take its time; a process that is gone does not come back.
    kill -0 "$child" 2>/dev/null ||
      { tail -n 15 "$server_log" "$server_folder/output.log" >&2 || true; die "the server did not start; its log is $server_log"; }
    sleep 0.1
    waited=$((waited + 1))
    [ $((waited % 300)) -ne 0 ] || say "still waiting for the server to recover (log: $server_log)"
  done
  disown "$child"
}

# stop_server NAME: fails when none runs.
stop_server() {
  set_server "$1"
  end_server
}

# The same for the server whose paths are set.
end_server() {
  local pid waited=0
  pid=$(server_pid) || return 1
  kill -TERM "$pid"
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.1
    waited=$((waited + 1))
    [ $waited -lt 3000 ] || die "the server (process $pid) has not ended within 5 minutes; its log is $server_log"
  done
}
