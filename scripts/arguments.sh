# shellcheck shell=bash
# Sourced: looks at a command's arguments before anything is installed or built.

# help_when_asked ARGUMENT...: prints the function usage() and ends, when an argument asks for it.
help_when_asked() {
  case ${1:-} in
    -h | --help)
      usage
      exit 0
      ;;
  esac
}

# wrong_argument SENTENCE: ends as programs do whose arguments are wrong.
wrong_argument() {
  printf 'error: %s; see ./run %s --help\n' "$1" "$command_name" >&2
  exit 2
}

# read_arguments SPEC... -- ARGUMENT...: checks the arguments of the command $command_name. SPEC is one of
#   NAME=LOW..HIGH   an option --NAME with a whole number
#   NAME=DECIMAL     ... with a number above 0, of at most three digits before the point and behind it
#   NAME=FILE        ... with the name of a file whose folder exists
#   NAME=FILES       ... that may be given again; the values have line ends between
#   NAME=TEXT        ... with any text
#   NAME=A|B|C       ... with one of these words
#   NAME             ... without a value
#   words=A|B|C      arguments that are no options must be among these; without it there may be none
# The values are in ${option[NAME]} then (of one without a value: "yes"), the other arguments in ${words[@]}.
declare -A option=()
words=()
read_arguments() {
  local -A kind=()
  local name value known allowed=
  while [ "$1" != -- ]; do
    case $1 in
      words=*) allowed=${1#words=} ;;
      *=*) kind[${1%%=*}]=${1#*=} ;;
      *) kind[$1]=FLAG ;;
    esac
    shift
  done
  shift
  while [ $# -gt 0 ]; do
    case $1 in
      -h | --help) help_when_asked "$1" ;;
      --*=*)
        set -- "${1%%=*}" "${1#*=}" "${@:2}"
        value=given
        ;;
      --*) value=next ;;
      *)
        for known in ${allowed//|/ }; do [ "$1" != "$known" ] || break; done
        [ "$1" = "${known:-}" ] || wrong_argument "'./run $command_name' takes no '$1'${allowed:+, only ${allowed//|/, }}"
        words+=("$1")
        shift
        continue
        ;;
    esac
    name=${1#--}
    shift
    case ${kind[$name]:-} in
      '') wrong_argument "'./run $command_name' has no option --$name" ;;
      FLAG)
        [ $value = next ] || wrong_argument "--$name takes no value"
        option[$name]=yes
        continue
        ;;
    esac
    [ $# -gt 0 ] && [ -n "$1" ] || wrong_argument "--$name needs a value"
    value=$1
    shift
    check_value "$name" "${kind[$name]}" "$value"
    [ "${kind[$name]}" != FILES ] || value=${option[$name]:+${option[$name]}$'\n'}$value
    option[$name]=$value
  done
}

check_value() {
  local name=$1 form=$2 value=$3 low high
  case $form in
    FILE | FILES) [ -d "$(dirname -- "$value")" ] || wrong_argument "the folder of $value does not exist" ;;
    TEXT) ;;
    *'|'*)
      [[ "|$form|" == *"|$value|"* && $value != *'|'* ]] || wrong_argument "--$name must be one of ${form//|/, }, not '$value'"
      ;;
    DECIMAL)
      [[ $value =~ ^[0-9]{1,3}(\.[0-9]{1,3})?$ && $value =~ [1-9] ]] ||
        wrong_argument "--$name must be a number above 0 with at most three digits before the point and behind it, not '$value'"
      ;;
    *)
      low=${form%..*} high=${form#*..}
      # So many digits at most that the shell can count.
      [[ $value =~ ^[0-9]{1,15}$ ]] && [ "$value" -ge "$low" ] && [ "$value" -le "$high" ] ||
        wrong_argument "--$name must be a whole number between $low and $high, not '$value'"
      ;;
  esac
}
