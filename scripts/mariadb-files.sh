# shellcheck shell=bash
# Sourced: mariadb_files chooses a MariaDB server whose binary and source are of exactly the same version and sets
#   mariadb_version   Debian version
#   mariadbd          the server program
#   mariadb_root      private folder with the client and the rest of the packages' files
#   mariadb_tests     the folder of the test driver there, whose place and name differ between the server's series
#   mariadb_source    the folders of the source package that the plugin is compiled against
#   mariadb_headers   the headers that were generated when the server was built
# A plugin loads only into the server version that it was compiled for, and Debian has no package with the server's
# inner headers; hence the source package. Nothing of this touches a server or an apt configuration that is there.

mariadb_folder=$build/mariadb
mariadb_deb_names=(mariadb-server-core mariadb-server mariadb-client-core mariadb-client mariadb-backup mariadb-common
  mariadb-test mariadb-test-data libmariadbd-dev libmariadb-dev libmariadb3)

# apt with its own lists and source entries (the machine's own, with deb-src added), usable without root.
private_apt() {
  local program=$1
  shift
  "$program" -q -o Dir::Etc::sourcelist="$mariadb_folder/apt/sources.list" \
    -o Dir::Etc::sourceparts="$mariadb_folder/apt/sources.list.d" -o Dir::State::lists="$mariadb_folder/apt/lists" \
    -o Dir::Cache="$mariadb_folder/apt/cache" -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=3 \
    -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false "$@"
}

# Copies the machine's apt entries that offer MariaDB, each with deb-src beside deb.
write_private_sources() {
  local entries entry file line
  mkdir -p "$mariadb_folder/apt/"{sources.list.d,lists/partial,cache/archives/partial}
  : >"$mariadb_folder/apt/sources.list"
  entries=$({ apt-get indextargets --format '$(SOURCESENTRY) $(FILENAME)' 'Created-By: Packages' || true; } |
    while read -r entry file; do
      ! /usr/lib/apt/apt-helper cat-file "$file" 2>/dev/null | grep -xF 'Package: libmariadbd-dev' >/dev/null || echo "$entry"
    done | sort -u)
  [ -n "$entries" ] || return 1
  for entry in $entries; do
    file=${entry%:*} line=${entry##*:}
    case $file in
      *.sources)
        sed -E 's/^Types:.*/Types: deb deb-src/' "$file" >"$mariadb_folder/apt/sources.list.d/$(basename "$file")"
        ;;
      *)
        sed -n "${line}p" "$file" | sed -E 's/^ *deb(-src)? (.*)/deb \2\ndeb-src \2/' >>"$mariadb_folder/apt/sources.list"
        ;;
    esac
  done
}

# fetch_mariadb VERSION: downloads and unpacks; fails without a word when a file is not to be had.
fetch_mariadb() {
  local version=$1 downloads=$mariadb_folder/downloads name file
  local log=$build/logs/mariadb.log
  rm -rf "$downloads" "$mariadb_folder/source" "$server_home/mariadb/root"
  mkdir -p "$downloads" "$mariadb_folder/source" "$server_home/mariadb/root"
  (
    cd "$downloads"
    watched "source of MariaDB ${version#*:}" "$log" private_apt apt-get source --download-only "mariadb=$version" || exit 1
    watched "packages of MariaDB ${version#*:}" "$log" private_apt apt-get download "${mariadb_deb_names[@]/%/=$version}"
  ) || return 1
  # The Debian patches touch nothing in these folders; should one ever, the headers would not be the server's.
  tar -xJf "$downloads"/mariadb_*.debian.tar.xz -C "$downloads"
  ! grep -hE '^\+\+\+ b/(sql|include|wsrep-lib)/' "$downloads"/debian/patches/*.patch >>"$log" || return 1
  tar -xf "$(ls "$downloads"/mariadb_*.orig.tar.*z)" -C "$mariadb_folder/source" --strip-components=1 --wildcards \
    --no-wildcards-match-slash '*/sql' '*/include' '*/wsrep-lib' || return 1
  # The embedded server (a static library and two test programs, most of the bytes) is left out.
  for file in "$downloads"/*.deb; do
    dpkg-deb --fsys-tarfile "$file" | tar -x --no-same-owner -C "$server_home/mariadb/root" --exclude='*libmariadbd.a' \
      --exclude='*libmysqld.a' --exclude='*_embedded' --exclude='*-embedded' || return 1
  done
  # The server's headers include this one by the name that a configured source tree gives it.
  cp "$mariadb_folder/source/include/probes_mysql_nodtrace.h.in" \
    "$mariadb_folder/source/include/probes_mysql_nodtrace.h"
  rm -rf "$downloads" "$mariadb_folder/apt"
}

# choose_server INSTALLED VERSION PROGRAM REASON: what mariadb_files finds from now on, while INSTALLED is the version
# of the machine's own server.
choose_server() {
  cat >"$mariadb_folder/chosen" <<TEXT
mariadb_installed='$1'
mariadb_version='$2'
mariadbd='$3'
mariadb_root='$server_home/mariadb/root'
mariadb_reason='$4'
TEXT
}

installed_server() {
  dpkg-query -W -f='${db:Status-Status} ${Version}' mariadb-server-core 2>/dev/null | sed -n 's/^installed //p' || true
}

choose_mariadb() {
  local installed=$1 versions version reason refused='' program
  mkdir -p "$build/logs"
  : >"$build/logs/mariadb.log"
  say "looking for a MariaDB server with its source"
  write_private_sources || {
    # A machine whose package lists were never fetched.
    if [ "$(id -u)" = 0 ]; then apt-get -q update >/dev/null 2>&1; else sudo apt-get -q update >/dev/null 2>&1; fi || true
    write_private_sources
  } || die "apt knows no MariaDB package: put an archive of Debian 12 or 13 into /etc/apt/sources.list and run 'apt-get update'"
  watched "package lists" "$build/logs/mariadb.log" private_apt apt-get update ||
    say "apt could not fetch every package list (see build/logs/mariadb.log); going on with those it has"
  versions=$({ private_apt apt-cache madison libmariadbd-dev || true; } | awk '!/ Sources *$/ && $3 ~ /^1:(10\.11|11\.4|11\.8)\./ {print $3}' | sort -Vru)
  [ -n "$versions" ] ||
    die "the plugin is written for MariaDB 10.11, 11.4 and 11.8, which Debian 12 and 13 have; apt of $(. /etc/os-release && printf %s "$PRETTY_NAME") offers $(
      { private_apt apt-cache madison libmariadbd-dev || true; } | awk 'NR == 1 {print "MariaDB " $3}' | grep . || echo none)"
  # The installed server's own version first, whatever else there is.
  for version in $({ grep -xF "$installed" <<<"$versions" || true; }) $versions; do
    if fetch_mariadb "$version"; then
      program=$server_home/mariadb/root/usr/sbin/mariadbd
      if [ "$version" = "$installed" ]; then
        program=/usr/sbin/mariadbd
        reason="the server that this machine has, in a private instance, as its exact source is to be had"
      elif [ -n "$installed" ]; then
        reason="a private copy, as the installed server (${installed#*:}) has no downloadable source of its version"
      else
        reason="a private copy, as this machine has no MariaDB server"
      fi
      [ -z "$refused" ] || [ "$version" = "$installed" ] ||
        reason+="; binary or source of$refused cannot be downloaded"
      choose_server "$installed" "$version" "$program" "$reason"
      return 0
    fi
    [ "$version" = "$installed" ] || refused+=" ${version#*:}"
  done
  die "apt has no source of MariaDB $(sed "s,^[0-9]*:,," <<<"$versions" | paste -sd " "), of which the plugin needs the headers: unpack that source and say \
./run build --server-source DIR --server /usr/sbin/mariadbd (apt's output is in build/logs/mariadb.log)"
}

mariadb_files() {
  mkdir -p "$mariadb_folder"
  with_lock mariadb prepare_mariadb "$(installed_server)"
  . "$mariadb_folder/chosen"
  mariadb_source=$mariadb_folder/source
  mariadb_headers=$mariadb_root/usr/include/mariadb/server
  mariadb_tests=$mariadb_root/usr/share/mysql/mysql-test
  [ -d "$mariadb_tests" ] || mariadb_tests=$mariadb_root/usr/share/mariadb/mariadb-test
  say "MariaDB ${mariadb_version#*:}: $mariadb_reason"
}

prepare_mariadb() {
  if [ -e "$mariadb_folder/chosen" ]; then
    . "$mariadb_folder/chosen"
    [ "$mariadb_installed" != "$1" ] || [ ! -x "$mariadbd" ] || [ ! -d "$mariadb_root" ] || return 0
  fi
  rm -f "$mariadb_folder/chosen"
  choose_mariadb "$1"
}
