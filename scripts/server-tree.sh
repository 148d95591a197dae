# shellcheck shell=bash
# Sourced: server_tree DIR [MARIADBD] takes an unpacked source tree of a MariaDB server and sets
#   tree_version      the three-part version of the tree
#   mariadb_source    the tree
#   mariadb_headers   the headers that a build of such a server generates
#   tree_build        the folder for the plugin that is built against it
# The generated headers come from the first of these that has them, in the tree's version: the tree itself (built in
# place), the folder of headers that was installed with MARIADBD, a configuration of the tree made here.

server_tree_packages=(bison libncurses-dev libssl-dev)
whole_server_packages=("${server_tree_packages[@]}" make zlib1g-dev libpcre2-dev libcurl4-openssl-dev libaio-dev
  libxml2-dev libbz2-dev libedit-dev)
# Engines that have nothing to do with the headers and are not tested beside; some are git submodules.
server_tree_options=(-DCMAKE_BUILD_TYPE=RelWithDebInfo -DUPDATE_SUBMODULES=OFF -DWITH_UNIT_TESTS=OFF -DWITH_SSL=system
  "-DPLUGIN_"{COLUMNSTORE,CONNECT,MROONGA,OQGRAPH,ROCKSDB,S3,SPHINX,SPIDER}"=NO")

# version_of_headers FOLDER: the version that the generated headers there are of; nothing where there are none.
version_of_headers() {
  [ ! -e "$1/my_config.h" ] || [ ! -e "$1/mysqld_error.h" ] ||
    sed -nE 's/^#define MYSQL_SERVER_VERSION[ \t]+"([0-9]+\.[0-9]+\.[0-9]+).*/\1/p' "$1/mysql_version.h" 2>/dev/null
}

# version_of_binary MARIADBD: from the file, which may be of another system than this one.
version_of_binary() {
  { LC_ALL=C grep -aoE '[0-9]+\.[0-9]+\.[0-9]+-MariaDB' "$1" || true; } | grep -v '^10\.1\.1-' | head -n 1 | sed 's/-MariaDB//'
}

# check_tree DIR: sets tree_version; ends where that is no tree that the plugin can be built for.
check_tree() {
  local tree=$1 part
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
}

server_tree() {
  local tree=$1 binary=$2 folder prefix=/none
  check_tree "$tree"
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

configure_server_tree() {
  local log=$build/logs/server-tree.log
  [ "$(version_of_headers "$tree_build/server/include")" != "$tree_version" ] || return 0
  need_packages "${server_tree_packages[@]}"
  say "MariaDB $tree_version: configuring the tree with its own defaults, for its generated headers"
  : >"$log"
  watched "cmake" "$log" cmake -S "$1" -B "$tree_build/server" -G Ninja "${server_tree_options[@]}" ||
    { grep -A 3 -m 2 'CMake Error' "$log" >&2; die "the server's tree cannot be configured; cmake's output is in $log"; }
  watched "generated headers" "$log" ninja -C "$tree_build/server" GenError ||
    { tail -n 5 "$log" >&2; die "the server's headers cannot be generated; the output is in $log"; }
}

# whole_server DIR: builds the server of the tree as Debian lays one out, and makes it the one that all commands of this
# checkout run. By make: ninja finds two rules for one file in a tree that is laid out so.
whole_server() {
  local tree=$1 folder=$build/whole-server log=$build/logs/whole-server.log root=$server_home/mariadb/root
  check_tree "$tree"
  need_packages "${build_packages[@]}" "${server_packages[@]}" "${whole_server_packages[@]}"
  mkdir -p "$build/logs" "$mariadb_folder/source"
  : >"$log"
  say "building the server MariaDB $tree_version (about an hour on two cores)"
  # Without -g, which makes up most of the size of a build.
  watched "cmake" "$log" cmake -S "$tree" -B "$folder" "${server_tree_options[@]}" -DWITH_WSREP=ON \
    -DINSTALL_LAYOUT=DEB -DCMAKE_INSTALL_PREFIX=/usr "-DCMAKE_"{C,CXX}"_FLAGS_RELWITHDEBINFO=-O2 -DNDEBUG" \
    ${compiler_cache[@]+"${compiler_cache[@]}"} ||
    { grep -A 3 -m 2 'CMake Error' "$log" >&2; die "the server's tree cannot be configured; cmake's output is in $log"; }
  watched "server" "$log" make -C "$folder" -j "$(nproc)" ||
    { grep -B 2 -A 3 -m 2 -E 'error:|Error ' "$log" >&2; die "the server cannot be built; make's output is in $log"; }
  rm -rf "$root" "$mariadb_folder/source" "$mariadb_folder/chosen"
  mkdir -p "$root" "$mariadb_folder/source"
  watched "installation" "$log" make -C "$folder" install DESTDIR="$root" ||
    { tail -n 5 "$log" >&2; die "the server cannot be installed into $root; make's output is in $log"; }
  cp -r "$tree/sql" "$tree/include" "$tree/wsrep-lib" "$mariadb_folder/source/"
  cp "$tree/include/probes_mysql_nodtrace.h.in" "$mariadb_folder/source/include/probes_mysql_nodtrace.h"
  choose_server "$(installed_server)" "$tree_version" "$root/usr/sbin/mariadbd" "built from $tree"
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
