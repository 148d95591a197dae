# shellcheck shell=bash
# Sourced: server_tree DIR [MARIADBD] takes an unpacked source tree of a MariaDB server and sets
#   tree_version      the three-part version of the tree
#   mariadb_source    the tree
#   mariadb_headers   the headers that a build of such a server generates
#   tree_build        the folder for the plugin that is built against it
# The generated headers come from the first of these that has them, in the tree's version: the tree itself (built in
# place), the folder of headers that was installed with MARIADBD, a configuration of the tree made here.

server_tree_packages=(bison libncurses-dev libssl-dev)

# version_of_headers FOLDER: the version that the generated headers there are of; nothing where there are none.
version_of_headers() {
  [ ! -e "$1/my_config.h" ] || [ ! -e "$1/mysqld_error.h" ] ||
    sed -nE 's/^#define MYSQL_SERVER_VERSION[ \t]+"([0-9]+\.[0-9]+\.[0-9]+).*/\1/p' "$1/mysql_version.h" 2>/dev/null
}

# version_of_binary MARIADBD: from the file, which may be of another system than this one.
version_of_binary() {
  { LC_ALL=C grep -aoE '[0-9]+\.[0-9]+\.[0-9]+-MariaDB' "$1" || true; } | grep -v '^10\.1\.1-' | head -n 1 | sed 's/-MariaDB//'
}

server_tree() {
  local tree=$1 binary=$2 folder part prefix=/none
  for part in VERSION sql/handler.h include/my_global.h; do
    [ -e "$tree/$part" ] || die "$tree is not the source tree of a MariaDB server: it has no $part"
  done
  [ -e "$tree/wsrep-lib/include/wsrep/provider.hpp" ] && [ -e "$tree/wsrep-lib/wsrep-API/v26/wsrep_api.h" ] ||
    die "$tree has no wsrep-lib, which is a git submodule: run 'git submodule update --init --recursive wsrep-lib' in it"
  tree_version=$(sed -nE 's/^MYSQL_VERSION_(MAJOR|MINOR|PATCH)=([0-9]+).*/\2/p' "$tree/VERSION" | paste -sd.)
  case $tree_version in
    10.11.* | 11.4.* | 11.8.*) ;;
    *) die "$tree is of MariaDB $tree_version; the plugin is written for 10.11, 11.4 and 11.8" ;;
  esac
  tree_build=$build/for-$tree_version
  mkdir -p "$tree_build" "$build/logs"
  mariadb_source=$tree mariadb_headers=
  [ -z "$binary" ] || prefix=$(dirname -- "$(dirname -- "$binary")")
  for folder in "$tree/include" "$prefix/include/mariadb/server" "$prefix/include/mysql/server"; do
    if [ "$(version_of_headers "$folder")" = "$tree_version" ]; then
      mariadb_headers=$folder
      say "MariaDB $tree_version: the generated headers are those of $folder"
      break
    fi
  done
  [ -n "$mariadb_headers" ] || with_lock server-tree configure_server_tree "$tree"
  mariadb_headers=${mariadb_headers:-$tree_build/server/include}
  # A configured tree has this header under the name that the server's other headers include it by.
  mkdir -p "$tree_build/probes"
  cp "$tree/include/probes_mysql_nodtrace.h.in" "$tree_build/probes/probes_mysql_nodtrace.h"
  mariadb_headers+=";$tree_build/probes"
}

# The engines that are left out have nothing to do with the headers, and some are git submodules.
configure_server_tree() {
  local log=$build/logs/server-tree.log name left_out=()
  [ "$(version_of_headers "$tree_build/server/include")" != "$tree_version" ] || return 0
  need_packages "${server_tree_packages[@]}"
  say "MariaDB $tree_version: configuring the tree with its own defaults, for its generated headers"
  for name in COLUMNSTORE CONNECT MROONGA OQGRAPH ROCKSDB S3 SPHINX SPIDER; do left_out+=("-DPLUGIN_$name=NO"); done
  : >"$log"
  watched "cmake" "$log" cmake -S "$1" -B "$tree_build/server" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DUPDATE_SUBMODULES=OFF -DWITH_UNIT_TESTS=OFF -DWITH_SSL=system "${left_out[@]}" ||
    { grep -A 3 -m 2 'CMake Error' "$log" >&2; die "the server's tree cannot be configured; cmake's output is in $log"; }
  watched "generated headers" "$log" ninja -C "$tree_build/server" GenError ||
    { tail -n 5 "$log" >&2; die "the server's headers cannot be generated; the output is in $log"; }
}

# check_server PLUGIN MARIADBD VERSION: whether the server can load the plugin; ends where it cannot.
check_server() {
  local plugin=$1 binary=$2 version=$3 has
  "$project/scripts/check-symbols" "$plugin" "$binary" || die "$binary cannot run $plugin"
  has=$(version_of_binary "$binary")
  [ "${has:-$version}" = "$version" ] ||
    die "$binary is MariaDB $has, and $plugin was built for $version: the server refuses it; build it for $has"
  say "$(basename -- "$binary") ${has:-of unknown version} has every symbol that $(basename -- "$plugin") needs"
}
