# shellcheck shell=bash
# Sourced by scripts/test: the Debian packages, built from what ./run build has made, or in roots and used there.

# One build of the packages, of build/release, on this machine; lintian finds no error.
test_packages_quick() {
  local folder=$build/packages/quick name bytes
  alone "test packages"
  need_packages "${build_packages[@]}" "${server_packages[@]}" "${unit_test_packages[@]}" "${package_tools[@]}"
  "$project/scripts/build"
  say "Debian packages of this build"
  write_package_source "$folder" "$(own_suite)"
  if ! HAILSTONE_BUILT=$build/release "$folder/hailstone/scripts/package-build" "$folder" --no-check-builddeps; then
    add packages 1 1
    return 0
  fi
  show_packages "$folder"
  for name in "${package_names[@]}"; do
    if ls "$folder/$name"_*.deb >/dev/null 2>&1; then add "packages-$name" 1 0; else add "packages-$name" 1 1; fi
  done
  bytes=$(cat "$folder"/*.deb | wc -c)
  if [ "$bytes" -lt 30000000 ]; then add packages-size 1 0; else add packages-size 1 1; fi
}

# The packages of each release, built, installed and changed in bare roots. Arguments are those of ./run packages.
test_packages() {
  local suite arguments=() engine suites=(bookworm trixie)
  [ -z "${option[suite]:-}" ] || suites=("${option[suite]}")
  while IFS= read -r engine; do
    [ -z "$engine" ] || arguments+=(--engine "$engine")
  done <<<"${option[engine]:-}"
  alone "test packages"
  for suite in "${suites[@]}"; do
    "$project/scripts/packages" --suite "$suite" --output "$build/packages/tested" "${arguments[@]}"
    bare_root "$suite"
    write_package_variants "$suite"
    say "packages in bare roots of Debian $suite"
    in_bare_root "$suite" plugin
    in_bare_root "$suite" without_server
    in_bare_root "$suite" others
    if [ -n "$(engines_of "$build/packages/tested/pool/$suite"/mariadb-plugin-hailstone_*.deb)" ]; then
      in_bare_root "$suite" container
    else
      say "no container of Debian $suite: the plugin's package has no engine"
    fi
  done
}

# Later versions of the plugin's package, by changes to the one that was built: the same, one without its engines, and
# the same again.
write_package_variants() {
  local suite=$1 package folder version name
  folder=$build/packages/$suite/variants
  package=$(ls "$build/packages/tested/pool/$suite"/mariadb-plugin-hailstone_*.deb)
  version=$(dpkg-deb -f "$package" Version)
  rm -rf "$folder"
  mkdir -p "$folder"
  for name in 1-newer 2-without 3-again; do
    dpkg-deb -R "$package" "$folder/tree"
    sed -i "s/^Version: .*/Version: $version+${name%-*}/" "$folder/tree/DEBIAN/control"
    [ "$name" != 2-without ] || rm -f "$folder"/tree/usr/lib/mysql/plugin/hailstone-[0-9]*.so
    dpkg-deb --root-owner-group -b "$folder/tree" "$folder/${name#*-}.deb" >/dev/null
    rm -rf "$folder/tree"
  done
}

# in_bare_root SUITE PART: a part of tests/packages/installed_test, or container_test. A root in which it failed is kept.
in_bare_root() {
  local suite=$1 part=$2 program=installed_test root log count=0
  [ "$part" != container ] || program=container_test
  root=$build/packages/$suite/test-$part
  log=$build/logs/packages-$suite-$part.log
  copy_root "$roots/$suite" "$root"
  cp -r "$build/packages/tested" "$root/srv/repository"
  cp -r "$build/packages/$suite/variants" "$root/srv/variants"
  cp -r "$project/packaging/container" "$root/srv/container"
  cp "$project/tests/packages/$program" "$project/python/tests/without_pyarrow.py" "$project/examples/first_table.c" "$project/VERSION" "$root/srv/"
  if in_root "$root" "/srv/$program" "$suite" "$part" 2>&1 | tee "$log"; then
    count=$(sed -n 's/^checks: //p' "$log")
    rm -rf --one-file-system "$root"
    add "packages-$suite-$part" "${count:-0}" 0
  else
    say "the root is kept in $root"
    add "packages-$suite-$part" 1 1
  fi
}
