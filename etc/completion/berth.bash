# Completion of berth for bash: /usr/share/bash-completion/completions/berth, or `source <(berth completion bash)`.
_berth() {
  local word=${COMP_WORDS[COMP_CWORD]}
  # Each line is a word, a tab and what it means.
  mapfile -t COMPREPLY < <(berth __complete "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$word" 2>/dev/null | cut -f1)
}
# Without an answer, such as after --config: names of files.
complete -o default -o bashdefault -F _berth berth
