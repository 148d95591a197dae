# shellcheck shell=bash
# Sourced: bare roots of Debian releases, for what must not depend on what this machine has installed. Only root can make
# one. They lie in build/roots/, and get their packages from where this machine gets its own.

roots=$build/roots

# The Debian archives of this machine's apt, for another release: lines as a sources.list has them.
debian_sources() {
  local suite=$1 own uri release
  own=$(. /etc/os-release && printf %s "${VERSION_CODENAME:-}")
  { apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(ORIGIN) $(COMPONENT)' 'Created-By: Packages' || true; } | sort -u |
    while read -r uri release origin component; do
      case $origin,$component,$release in
        Debian,main,"$own" | Debian,main,"$own"-updates | Debian,main,"$own"-security)
          echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite${release#"$own"} main"
          ;;
      esac
    done
}

# bare_root SUITE: sets bare to a root with the smallest set of packages, which is made once.
bare_root() {
  local suite=$1 log=$build/logs/root-$1.log sources mirror
  bare=$roots/$suite
  [ ! -e "$bare/etc/hailstone-root" ] || return 0
  [ "$(id -u)" = 0 ] || die "only root can make a root of Debian: run it as root or by sudo"
  need_packages debootstrap debian-archive-keyring util-linux
  sources=$(debian_sources "$suite")
  [ -n "$sources" ] || { apt-get -q update >/dev/null 2>&1 || true; sources=$(debian_sources "$suite"); }
  mirror=$(awk -v suite="$suite" '$4 == suite {print $3; exit}' <<<"$sources")
  [ -n "$mirror" ] || die "apt of this machine has no Debian archive that '$suite' could come from; see 'apt-get indextargets'"
  say "making a bare root of Debian $suite"
  mkdir -p "$roots" "$build/logs"
  rm -rf --one-file-system "$bare"
  : >"$log"
  watched "debootstrap" "$log" debootstrap --variant=minbase "$suite" "$bare" "$mirror" ||
    { tail -n 5 "$log" >&2; die "there is no bare root of Debian $suite; debootstrap's output is in $log"; }
  : >"$bare/etc/apt/sources.list"
  printf '%s\n' "$sources" >"$bare/etc/apt/sources.list.d/debian.list"
  # How this machine reaches archives, and nothing else of its settings.
  apt-config dump | grep -E '^Acquire::(http|https|Check|Retries|ForceIPv)' >"$bare/etc/apt/apt.conf.d/90machine" || true
  echo 'APT::Update::Error-Mode "any";' >>"$bare/etc/apt/apt.conf.d/90machine"
  # Services do not start: a root has no init.
  printf '#!/bin/sh\nexit 101\n' >"$bare/usr/sbin/policy-rc.d"
  chmod 755 "$bare/usr/sbin/policy-rc.d"
  in_root "$bare" apt-get -q update >>"$log" 2>&1 || { tail -n 5 "$log" >&2; die "apt in the new root cannot update; its output is in $log"; }
  touch "$bare/etc/hailstone-root"
}

# copy_root FROM TO: TO must not be there, or is replaced.
copy_root() {
  rm -rf --one-file-system "$2"
  cp -a "$1" "$2"
}

# in_root ROOT COMMAND...: runs a command in a root, in namespaces of its own: what it mounts or leaves running ends with it, and
# it ends with this script.
in_root() {
  local root=$1
  shift
  cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
  # shellcheck disable=SC2016
  setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --propagation private -- bash -c '
    set -e
    root=$1
    shift
    mount -t proc proc "$root/proc"
    # The settings of the kernel are those of this machine.
    mount --bind -o ro "$root/proc/sys" "$root/proc/sys"
    mount -t sysfs -o ro sysfs "$root/sys"
    mount --rbind /dev "$root/dev"
    exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 TERM=dumb \
      DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"' bash "$root" "$@" </dev/null
}
