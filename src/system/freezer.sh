while read -r word; do
  last=
  case $word in last | hold | freeze | thaw | thawed) $word ;; esac
  printf '%s\n' "$last"
done
