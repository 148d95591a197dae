# shellcheck shell=bash
# Sourced: the source package of the checkout, and what was made of it.

package_names=(hailstone libhailstone-dev libhailstone0 mariadb-plugin-hailstone python3-hailstone)
# What builds packages, besides the compilers.
package_tools=(build-essential debhelper dh-python lintian)

# The release that this machine runs on, or the older one of the two.
own_suite() {
  case $(. /etc/os-release && printf %s "${VERSION_CODENAME:-}") in
    trixie) echo trixie ;;
    *) echo bookworm ;;
  esac
}

# write_package_source FOLDER SUITE: the tree that debian/ is in, FOLDER/hailstone, and its archive. Sets package_version.
# A clean checkout is dated by its commit, so that it gives the same files again.
write_package_source() {
  local folder=$1 suite=$2 seconds file archive
  need_packages git xz-utils python3
  seconds=$(git -C "$project" log -1 --format=%ct) || die "$project is not a git checkout, which the source package is made of"
  [ -z "$(git -C "$project" status --porcelain --untracked-files=no)" ] || seconds=$(date +%s)
  rm -rf "$folder"
  mkdir -p "$folder/hailstone"
  git -C "$project" ls-files -z | while IFS= read -r -d '' file; do
    [ ! -e "$project/$file" ] || printf '%s\0' "$file"
  done >"$folder/files"
  tar -C "$project" --null --files-from="$folder/files" -c | tar -x --no-same-owner -C "$folder/hailstone"
  rm "$folder/files"
  (cd "$project" && /usr/bin/python3 -B packaging/debian-changelog "$suite" "$seconds") >"$folder/changelog" ||
    die "there is no version for the packages"
  package_version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$folder/changelog")
  archive=hailstone_${package_version%-*}.orig.tar.xz
  tar -C "$folder" --sort=name --mtime="@$seconds" --owner=0 --group=0 --numeric-owner --mode=go-w \
    --transform="s,^hailstone,hailstone-${package_version%-*}," -c hailstone | xz -3 -T 1 >"$folder/$archive"
  cp -r "$folder/hailstone/packaging/debian" "$folder/hailstone/debian"
  mv "$folder/changelog" "$folder/hailstone/debian/changelog"
}

# show_packages FOLDER: sizes, and the sum of all.
show_packages() {
  local file
  for file in "$1"/*.deb; do
    [[ $(basename "$file") != *-dbgsym_* ]] || continue
    printf '   %6.1f MB  %s\n' "$(stat -c %s "$file" | awk '{print $1 / 1e6}')" "$(basename "$file")"
  done
  printf '   %6.1f MB  together\n' "$(cat "$1"/*.deb | wc -c | awk '{print $1 / 1e6}')"
}

# engines_of PACKAGE: the server versions that the plugin's package has engines for, a line each.
engines_of() {
  dpkg-deb --fsys-tarfile "$1" | tar -t | sed -nE 's,.*/hailstone-([0-9.]+)\.so$,\1,p' | sort -V
}
