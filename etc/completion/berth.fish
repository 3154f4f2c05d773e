# Completion of berth for fish: /usr/share/fish/vendor_completions.d/berth.fish, or `berth completion fish | source`.
function __berth_complete
    set --local words (commandline --tokenize --cut-at-cursor --current-process) (commandline --current-token --cut-at-cursor)
    set --local found (berth __complete $words[2..] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        # Such as after --config.
        __fish_complete_path (commandline --current-token --cut-at-cursor)
    end
end
complete --command berth --no-files --arguments '(__berth_complete)'
