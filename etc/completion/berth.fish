# Completion of berth for fish: /usr/share/fish/vendor_completions.d/berth.fish, or `berth completion fish | source`.
function __berth_complete
    set --local current (commandline --current-token --cut-at-cursor)
    set --local words (commandline --tokenize --cut-at-cursor --current-process) $current
    # Each line is a word, a tab and what it means; the last one is what this shell completes otherwise.
    set --local found (berth __complete $words[2..] 2>/dev/null)
    switch "$found[-1]"
        case :files
            __fish_complete_path (string replace --regex -- '^--[a-z-]+=' '' "$current")
        case :directories
            __fish_complete_directories (string replace --regex -- '^--[a-z-]+=' '' "$current")
    end
    printf '%s\n' $found[1..-2]
end
complete --command berth --no-files --arguments '(__berth_complete)'
