# shellcheck shell=bash
# Sourced by every script: messages, packages, folders, and the user that servers run as.
set -euo pipefail

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$project/build
mkdir -p "$build"

say() { printf '== %s\n' "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# MariaDB's test driver and build rules take a space for the end of a path.
[[ $project != *[[:space:]]* ]] || die "the path of the checkout has a space in it, '$project'; move it to one without"

# The locks that this script holds: alone().
declare -A held_alone=()

# watched WHAT LOG COMMAND...: runs a command with its output in LOG, and tells now and then that it goes on.
watched() {
  local what=$1 log=$2 reporter status=0
  shift 2
  report_time "$what" &
  reporter=$!
  "$@" >>"$log" 2>&1 || status=$?
  kill "$reporter" 2>/dev/null || true
  wait "$reporter" 2>/dev/null || true
  [ ! -t 1 ] || printf '\r\033[K'
  return "$status"
}

# Until it is ended, or the script is gone: how long WHAT takes so far. On a terminal one line that changes.
report_time() {
  local began=$SECONDS lock
  # What sleeps here may outlive the script, and must not keep its locks.
  for lock in "${held_alone[@]}"; do exec {lock}>&-; done
  while kill -0 $$ 2>/dev/null; do
    if [ -t 1 ]; then
      printf '\r\033[K   %s: %s s' "$1" $((SECONDS - began))
      sleep 1
    else
      sleep 20
      printf '   %s: %s s\n' "$1" $((SECONDS - began))
    fi
  done
}

is_release() { (. /etc/os-release && [[ " $* " == *" ${VERSION_CODENAME:-} "* ]]); }

# The packages behind each purpose; docs/dependencies.md says why each is there. Some libraries have another name from
# Debian 13 on, with times of 64 bits.
t64=t64
! is_release bookworm || t64=
build_packages=(g++ cmake ninja-build pkg-config libfmt-dev libabsl-dev libxxhash-dev liblz4-dev libzstd-dev
  libhwy-dev liburing-dev libcli11-dev libsimdjson-dev libtomlplusplus-dev libmariadb-dev libmicrohttpd-dev
  libpcre2-dev zlib1g-dev)
server_packages=(ca-certificates netbase xz-utils dpkg-dev libssl-dev zlib1g-dev "libaio1$t64" libnuma1 libpcre2-8-0
  "libssl3$t64" libsystemd0 liburing2 libedit2 libncurses6 libcrypt1 zlib1g util-linux)
unit_test_packages=(libgtest-dev python3 util-linux)
fuzz_packages=(clang-19 libclang-rt-19-dev)
sql_test_packages=(perl patch libpcre2-posix3 libpam0g procps)
python_packages=(python3 python3-pymysql)
wheel_packages=(python3 python3-venv python3-pip)
bench_packages=(python3-venv python3-pip python3-matplotlib)
segment_bench_packages=(libbenchmark-dev)

# need_packages NAME...: installs those that are missing, and none that is there.
need_packages() {
  local missing=() name as_root=()
  for name in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      die "${#missing[@]} packages are missing, and this user can neither act as root nor use sudo; as root, then repeat: \
apt-get update && apt-get install --no-install-recommends ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${#missing[@]} Debian packages, ${missing[0]} first"
  mkdir -p "$build/logs"
  local log=$build/logs/apt.log
  local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600
    -o Acquire::Retries=3 install --no-install-recommends --no-remove)
  : >"$log"
  watched "apt-get" "$log" "${install[@]}" "${missing[@]}" && return 0
  # The package lists may be old or, on a fresh machine, not there at all.
  watched "apt-get update" "$log" "${as_root[@]}" apt-get -q -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 update || true
  : >"$log"
  watched "apt-get" "$log" "${install[@]}" "${missing[@]}" || die "$(why_not_installed "$log")"
}

# why_not_installed LOG: in one sentence, by apt's output.
why_not_installed() {
  local absent system
  system=$(. /etc/os-release && printf %s "$PRETTY_NAME")
  absent=$(sed -nE "s/^E: (Unable to locate package |Package ')([^ ']+).*/\\2/p" "$1" | sort -u | head -n 3 | paste -sd ' ')
  if [ -n "$absent" ] && ! is_release bookworm trixie; then
    printf '%s' "this needs Debian 12 or 13, and this system is $system, which has no package $absent"
  elif grep -qE 'Temporary failure resolving|Could not (resolve|connect)|Failed to fetch|Network is unreachable' "$1"; then
    printf '%s' "apt-get cannot reach a package archive: check the network and /etc/apt; its output is in $1"
  elif [ -n "$absent" ]; then
    printf '%s' "apt knows no package $absent: check the archives in /etc/apt; its output is in $1"
  else
    printf '%s' "apt-get could not install packages: $(grep -m 1 '^E: ' "$1" || echo 'no reason given'); its output is in $1"
  fi
}

# run_ninja LOG COMMAND...: builds by a command that runs ninja. All its output goes to LOG. How far it is: on a
# terminal one line that changes, else a line now and then.
run_ninja() {
  local log=$1 failed=0
  shift
  NINJA_STATUS='[%f/%t] ' "$@" 2>&1 | tee -a "$log" | show_steps || failed=1
  [ "$failed" = 0 ] ||
    { grep -aE -m 20 'error:|FAILED:|undefined reference' "$log" >&2 || tail -n 5 "$log" >&2; die "the build failed; its output is in $log"; }
}

# Shows ninja's steps, "[n/all] what", of its output.
show_steps() {
  local line step all name next=0
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ (.*) ]] || continue
    step=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]} name=${BASH_REMATCH[3]##*/}
    if [ -t 1 ]; then
      printf '\r\033[K   [%s/%s] %s' "$step" "$all" "${name%.o}"
    elif [ "$step" -ge "$next" ]; then
      printf '   [%s/%s]\n' "$step" "$all"
      # About twenty lines in all.
      next=$((step + (all + 19) / 20))
    fi
  done
  [ ! -t 1 ] || printf '\r\033[K'
}

# A server never runs as root: when root calls, it runs as nobody.
server_user=
server_prefix=()
if [ "$(id -u)" = 0 ]; then
  server_user=nobody
  server_prefix=(setpriv --reuid=nobody --regid=nogroup --clear-groups --inh-caps=-all --)
fi

# Where servers find their binaries and keep their data: build/, or, where their user may not enter it (a checkout
# under /root), a folder of this checkout's own in /var/tmp.
server_home=$build
if [ -n "$server_user" ] && ! "${server_prefix[@]}" test -x "$build" 2>/dev/null; then
  server_home=/var/tmp/hailstone-$(printf %s "$project" | sha256sum | cut -c1-12)
  if [ -e "$server_home" ]; then
    [ ! -L "$server_home" ] && [ "$(stat -c %u "$server_home")" = 0 ] ||
      die "$server_home exists and does not belong to root; remove it and try again"
  else
    mkdir -m 755 "$server_home"
    say "the checkout cannot be entered by the user '$server_user': MariaDB and its data go to $server_home"
  fi
fi

# alone COMMAND: ends here when the same command of ./run is under way in this checkout, as both would use the same
# folders under build/. Held until this process and what it started end; it may be asked for again meanwhile.
alone() {
  local lock
  [ -z "${held_alone[$1]:-}" ] || return 0
  exec {lock}>"$build/.${1// /-}.lock"
  flock -n "$lock" || die "another './run $1' is under way in this checkout; wait for its end, or use a clone of its own"
  held_alone[$1]=$lock
}

# with_lock NAME COMMAND...: two callers of the same step take turns.
with_lock() {
  local name=$1
  shift
  (
    exec 9>"$build/.$name.lock"
    flock 9
    "$@" 9>&-
  )
}
