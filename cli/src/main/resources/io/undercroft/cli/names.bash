
# Completes names of tensors and paths of values of the file on the command line. Nothing of a name is evaluated: quotes
# and backslashes of the typed words are removed, and printf adds those that a name needs, unless the typed word begins
# with a quote.
function _complete_croft_and_names() {
  local command=${COMP_WORDS[1]} previous=${COMP_WORDS[COMP_CWORD-1]} current=${COMP_WORDS[COMP_CWORD]}
  local file="" quotes=$'[\\\\"\']' name word i
  for (( i = 2; i < ${#COMP_WORDS[@]}; i++ )); do
    word=${COMP_WORDS[i]//$quotes/}
    if [[ "$word" == "~"* ]]; then word=$HOME${word:1}; fi
    if (( i != COMP_CWORD )) && [[ -z "$file" && -f "$word" ]]; then file=$word; fi
  done
  case "$command $previous" in
    *' --only' | *' --part') ;;
    'extract -'*) file="" ;;
    'extract '*) if [[ "$current" == -* ]]; then file=""; fi ;;
    *) file="" ;;
  esac
  if [[ -z "$file" ]]; then
    _complete_croft "$@"
    return
  fi
  word=${COMP_WORDS[0]}
  if [[ "$word" == "~"* ]]; then word=$HOME${word:1}; fi
  COMPREPLY=()
  while IFS= read -r name; do
    if [[ "$current" != [\"\']* ]]; then printf -v name %q "$name"; fi
    COMPREPLY+=("$name")
  done < <("$word" complete-names -- "$file" "${current//$quotes/}" 2>/dev/null </dev/null)
}
complete -F _complete_croft_and_names -o default croft croft.sh croft.bash
