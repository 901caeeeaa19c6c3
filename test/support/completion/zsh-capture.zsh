# Prints what zsh would offer for each line, and a line of --- behind each answer:
# zsh -f zsh-capture.zsh FOLDER-OF-THE-SCRIPT LINE…
# Completion runs in an interactive shell only: one on a pseudo-terminal, which says what it offers.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PROMPT= RPROMPT= fpath=(${(q)1} \$fpath); source ${(q)0:A:h}/zsh-inner.zsh"
zpty -r -m shell answer '*ready*' # echoes of what was typed go by
for line in "${@[2,-1]}"; do
  zpty -w -n shell $'\C-u'"$line"$'\t'
  zpty -r -m shell answer $'*\2*\3*'
  answer=${answer##*$'\2'}
  print -r -- "${${answer%%$'\3'*}//$'\r'/}"
  print -r -- ---
done
zpty -d shell
