# shellcheck shell=bash
# Sourced by scripts/test: the SQL tests by the packaged test driver, once as they are, and again under variants: other
# sizes, less memory, one thread, a server that is restarted again and again. A test says in one line which variants
# it bears:
#   # variants: tiny memory thread spill restart
# Its answers are the same then. In a plain './run test' a part of all pairs of a test and a variant runs, another one
# each day.

all_variants=(tiny memory thread spill restart)

# variant_options VARIANT: for mariadbd.
variant_options() {
  case $1 in
    # Rows go to segments again and again, so that all that is read of blocks comes from many, small ones.
    tiny) echo --hailstone-delta-size=16K --hailstone-segment-rows=1000 ;;
    memory) echo --hailstone-memory-budget=16M ;;
    thread) echo --hailstone-query-threads=1 --hailstone-background-threads=1 ;;
    # What may go to files does: each batch of groups, sorted rows and joined tables.
    spill) echo --hailstone-query-memory=1 ;;
    restart) ;;
  esac
}

# bearing VARIANT [TEST...]: the tests that bear it, of those named, or of all.
bearing() {
  local variant=$1 file test
  shift
  for file in "$sql_suite"/t/*.test; do
    test=$(basename "$file" .test)
    [ $# -eq 0 ] || [[ " $* " == *" $test "* ]] || continue
    ! grep -qE "^# variants:(.*[ ])?$variant( |\$)" "$file" || echo "$test"
  done
}

prepare_sql() {
  sql_suite=$project/mariadb/mysql-test/hailstone
  alone "test sql"
  [ -d "$sql_suite" ] || die "there are no SQL tests in $sql_suite"
  need_packages "${build_packages[@]}" "${server_packages[@]}" "${unit_test_packages[@]}" "${sql_test_packages[@]}"
  "$project/scripts/build" ha_hailstone
  mariadb_files >/dev/null
  cp "$build"/release/plugin/*.so "$mariadb_root/usr/lib/mysql/plugin/"
}

# make_suite NAME: a copy of the suite in $sql_work, which the server's user can read and record results in.
make_suite() {
  # The test driver takes a '-' in the path of a suite for a separator.
  sql_work=$server_home/$1
  [[ $sql_work != *-* ]] || sql_work=/var/tmp/hailstone_$1
  rm -rf "$sql_work"
  mkdir -p "$sql_work"
  cp -r "$sql_suite" "$sql_work/"
}

# run_driver LOG DRIVER-ARGUMENT...: on the suite in $sql_work.
run_driver() {
  local log=$1
  shift
  [ -z "$server_user" ] || chown -R "$server_user:nogroup" "$sql_work"
  (
    cd "$mariadb_tests"
    as_server env HOME="$sql_work" perl mariadb-test-run.pl --vardir="$sql_work/var" --suite="$sql_work/hailstone" \
      --force --retry=0 --max-test-fail=0 --parallel="$(nproc)" "$@" </dev/null 2>&1
  ) | tee "$log" | show_sql_tests || true
}

run_count() { grep -acE '\[ (pass|fail) \]' "$1" || true; }
# The driver gives up after many failures, and passes over the tests that are left.
came_to_end() {
  grep -aq '^Completed: ' "$1" && return 0
  say "MariaDB's test driver has not run all tests; its output is in $1"
  return 1
}
fail_count() { grep -acE '\[ fail \]' "$1" || true; }

# test_sql [DRIVER-ARGUMENT...]
test_sql() {
  local log=$build/logs/test-sql.log file
  prepare_sql
  say "SQL tests"
  make_suite sqltests
  run_driver "$log" "$@"
  case " $* " in
    *' --record '*)
      for file in "$sql_work"/hailstone/r/*.result; do
        cmp -s "$file" "$sql_suite/r/$(basename "$file")" || cat "$file" >"$sql_suite/r/$(basename "$file")"
      done
      ;;
  esac
  add sql "$(run_count "$log")" "$(fail_count "$log")"
  came_to_end "$log" || add sql 1 1
}

# run_variant VARIANT TEST...
run_variant() {
  local variant=$1 log=$build/logs/test-sql-$1.log bear option options=()
  shift
  bear=$(bearing "$variant" | wc -l)
  if [ $# -gt 0 ]; then
    make_suite sqlvariants
    for option in $(variant_options "$variant"); do options+=("--mysqld=$option"); done
    [ "$variant" != restart ] || /usr/bin/python3 -B "$project/tests/variants/restarting" "$sql_work/hailstone" "$@"
    run_driver "$log" "${options[@]}" "$@"
    add "sql-$variant" "$(run_count "$log")" "$(fail_count "$log")"
    say "variant $variant: $(run_count "$log") of the $bear tests that bear it ran, $(fail_count "$log") failed"
  else
    say "variant $variant: 0 of the $bear tests that bear it ran"
  fi
}

# test_variants [VARIANT]: all tests that bear it, or, without one, all variants.
test_variants() {
  local variant tests
  [ $# -eq 0 ] || [[ " ${all_variants[*]} " == *" $1 "* ]] ||
    wrong_argument "there is no variant '$1', only ${all_variants[*]}"
  prepare_sql
  for variant in "${@:-${all_variants[@]}}"; do
    say "SQL tests, variant $variant"
    mapfile -t tests < <(bearing "$variant")
    run_variant "$variant" "${tests[@]}"
  done
}

# test_part_of_variants: as many pairs of a test and a variant, in an order that the seed gives, as fit into four
# minutes by the times that the tests have just taken.
test_part_of_variants() {
  local seed=${HAILSTONE_TEST_SEED:-$(date +%Y%m%d)} variant tests
  prepare_sql
  say "SQL tests under variants, a part: HAILSTONE_TEST_SEED=$seed"
  for variant in "${all_variants[@]}"; do
    bearing "$variant" | sed "s/^/$variant /"
  done | /usr/bin/python3 -B "$project/tests/variants/choose" --seed "$seed" --log "$build/logs/test-sql.log" \
    --suite "$sql_suite" --workers "$(nproc)" >"$build/logs/variants-chosen"
  for variant in "${all_variants[@]}"; do
    mapfile -t tests < <(sed -n "s/^$variant //p" "$build/logs/variants-chosen")
    run_variant "$variant" "${tests[@]}"
  done
}
