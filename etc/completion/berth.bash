# Completion of berth for bash: /usr/share/bash-completion/completions/berth, or `source <(berth completion bash)`.
_berth() {
  # Not COMP_WORDS, which are split at = and : too.
  local line=${COMP_LINE:0:COMP_POINT}
  local -a words found
  read -ra words <<<"$line"
  [[ $line != *[[:space:]] ]] || words+=('')
  local word=${words[-1]}
  # Each line is a word, a tab and what it means; the last one is what this shell completes otherwise.
  mapfile -t found < <(berth __complete "${words[@]:1}" 2>/dev/null | cut -f1)
  (( ${#found[@]} )) || return
  case ${found[-1]} in
    :files) compopt -o default -o bashdefault ;;
    :directories) compopt -o dirnames -o filenames ;;
  esac
  unset 'found[-1]'
  (( ${#found[@]} )) || return
  # readline replaces what is after the last = or : only. The shell reads what is completed: a name may need quotes.
  mapfile -t COMPREPLY < <(printf '%q\n' "${found[@]#"${word%"${word##*[=:]}"}"}")
}
complete -F _berth berth
