# shellcheck shell=bash
# Sourced by scripts/engine-suites: the server's general suites, whose tests are about SQL and not about engines. Each test
# runs in two private copies of the test tree, with Hailstone and with InnoDB in the place of the engines that it names and
# as the default (scripts/suite-copy). It passes when both say the same (scripts/suite-differences has the rules).
# The caller has set driver, found, driver_log, home, mariadb_root, work, and has as_server, results_of and say.

beside_suites=(json period sql_sequence vcol gcol versioning main)
# Tests that leave something behind which others then meet, beside InnoDB as well: each has a driver and data of its own.
tests_by_themselves=(main.partition_myisam)

is_beside() { [[ " ${beside_suites[*]} " == *" $1 "* ]]; }

# The copy of the test tree for an engine. The driver finds the server in the folders above it.
tree_of() { echo "$mariadb_root/usr/suites/$1/mysql-test"; }

# A suite's folder in a test tree.
folder_in() { if [ "$2" = main ]; then echo "$1/main"; else echo "$1/suite/$2"; fi; }

# The list says of some that they hang, and so are not run.
tests_beside() {
  local folder
  folder=$(folder_in "$driver" "$1")
  find "$folder" "$folder/t" -maxdepth 1 -name '*.test' -exec basename -a -s .test {} + 2>/dev/null | sort -u |
    grep -vxFf <(sed -nE "s/^$1\.([^, ]+),hangs +:.*/\1/p" "$home/not-passing"; echo)
}

# Makes the copies, unless they are those that this version of suite-copy makes.
make_trees() {
  local engine made_by
  made_by="$(sha256sum <"$project/scripts/suite-copy") $driver ${beside_suites[*]}"
  [ "$(cat "$mariadb_root/usr/suites/made-by" 2>/dev/null)" != "$made_by" ] || return 0
  for engine in HAILSTONE InnoDB; do
    "$project/scripts/suite-copy" "$driver" "$(tree_of "${engine,,}")" "$engine" "${beside_suites[@]}"
  done
  # The driver writes what it records into them.
  [ -z "$server_user" ] || chown -R "$server_user:nogroup" "$mariadb_root/usr/suites"
  echo "$made_by" >"$mariadb_root/usr/suites/made-by"
  # What was kept of InnoDB is of the tests as they were.
  rm -rf "${beside_suites[@]/#/$found/outputs/}"
}

# drive_beside ENGINE SUITE TEST...: runs tests; the log goes to $driver_log. Both runs have the plugin, so that what
# lists plugins says the same. The driver's second --force lets a test go on behind an error that it does not expect.
# Tests of MyISAM wait for no lock of a row or of a table: they would wait for 50 seconds, or for ever. InnoDB is not to refuse
# formats of other engines.
drive_beside() {
  local engine=$1 suite=$2 test
  shift 2
  for test in "$@"; do find "$(folder_in "$(tree_of "$engine")" "$suite")" -name "$test.result" -delete; done
  (
    cd "$(tree_of "$engine")"
    as_server env HOME="$work" perl mariadb-test-run.pl --vardir="$work/var" --suite="$suite" --force --force --record \
      --retry=0 --max-test-fail=0 --testcase-timeout=4 --mysqld=--plugin-load-add=ha_hailstone \
      --mysqld=--plugin-maturity=experimental --mysqld=--innodb --mysqld=--default-storage-engine="$engine" \
      --mysqld=--innodb-strict-mode=OFF --mysqld=--lock-wait-timeout=20 \
      --mysqld=--innodb-lock-wait-timeout=4 --mysqld=--hailstone-lock-wait-timeout=4 "$@" </dev/null 2>&1
  ) >"$driver_log" || true
  cat "$driver_log" >>"$found/driver.log"
}

# keep_output ENGINE SUITE TEST: what the last drive_beside() recorded of a test. One that ended early has only a log.
keep_output() {
  local recorded kept=$found/outputs/$2/$3.$1
  recorded=$(find "$(folder_in "$(tree_of "$1")" "$2")" -name "$3.result" -size +0 -print -quit)
  [ -n "$recorded" ] || recorded=$(find "$work/var/log" -name "$3.log" -size +0 -print -quit)
  rm -f "$kept"
  [ -z "$recorded" ] || cp "$recorded" "$kept"
}

# The driver's word on a test of the last drive_beside(): pass, fail, skipped or disabled, a tab, and why.
said_of() {
  sed -nE "s,^$1\.$2( '[^']*')? +(w[0-9]+ +)?\[ (pass|fail|skipped|disabled) \] *(.*)$,\3\t\4,p" "$driver_log" | head -n 1
}

# How a test of the last drive_beside() broke off: crash, timeout or nothing.
broken_off() {
  awk -v test="$1.$2" '$1 == test { on = $0 ~ /\[ fail \]/; next } $2 == "[" || $3 == "[" { on = 0 }
    on && /Server \[.*\] failed|server.*(died|crashed)|signal [0-9]/ { print "crash"; exit }
    on && /[Tt]imeout after|Test case timeout/ { print "timeout"; exit }' "$driver_log"
}

# run_beside SUITE TEST...: adds a line "test, result, why" for each test to the results of the suite. Why is a
# fingerprint of the differences, crash or timeout. build/engine-suites/differences/ has the differences to read.
run_beside() {
  local suite=$1 test together=()
  shift
  for test in "$@"; do
    if [[ " ${tests_by_themselves[*]} " == *" $suite.$test "* ]]; then
      run_with_one_driver "$suite" "$test"
    else
      together+=("$test")
    fi
  done
  [ ${#together[@]} -eq 0 ] || run_with_one_driver "$suite" "${together[@]}"
}

# The same, by one call of the driver.
run_with_one_driver() {
  local suite=$1 test said result why outputs=$found/outputs/$1 differences=$found/differences/$1 wanted=()
  shift
  mkdir -p "$outputs" "$differences"
  # What InnoDB says of a test does not change: it is asked once.
  for test in "$@"; do [ -e "$outputs/$test.innodb" ] || wanted+=("$test"); done
  if [ ${#wanted[@]} -gt 0 ]; then
    drive_beside innodb "$suite" "${wanted[@]}"
    for test in "${wanted[@]}"; do keep_output innodb "$suite" "$test"; done
  fi
  drive_beside hailstone "$suite" "$@"
  for test in "$@"; do
    keep_output hailstone "$suite" "$test"
    said=$(said_of "$suite" "$test")
    result=${said%%$'\t'*} why=${said#*$'\t'}
    case $result in
      pass | fail)
        why=$(broken_off "$suite" "$test")
        [ -n "$why" ] || [ -e "$outputs/$test.hailstone" ] || why='no output'
        [ -n "$why" ] || [ -e "$outputs/$test.innodb" ] || why='InnoDB does not run it'
        [ -n "$why" ] || why=$("$project/scripts/suite-differences" "$outputs/$test.hailstone" "$outputs/$test.innodb" \
          --report "$differences/$test")
        if [ -n "$why" ]; then result=fail; else result=pass; fi
        [ -s "$differences/$test" ] || rm -f "$differences/$test"
        ;;
      '') result=fail why='not run' ;;
    esac
    add_result "$suite" "$test" "$result" "$why"
  done
}

# add_result SUITE TEST RESULT WHY: in the place of an earlier line of the test.
add_result() {
  local results
  results=$(results_of "$1")
  { [ ! -e "$results" ] || awk -F '\t' -v test="$2" '$1 != test' "$results"; printf '%s\t%s\t%s\n' "$2" "$3" "$4"; } |
    sort >"$results.next"
  mv "$results.next" "$results"
}
