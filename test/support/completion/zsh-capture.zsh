# Prints what zsh would offer: zsh -f zsh-capture.zsh FOLDER-OF-THE-SCRIPT LINE
# Completion runs in an interactive shell only: one on a pseudo-terminal, which says what was offered.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PROMPT= RPROMPT= fpath=(${(q)1} \$fpath); source ${(q)0:A:h}/zsh-inner.zsh"
zpty -r -m shell line '*ready*' # echoes of what was typed go by
zpty -w -n shell "$2"$'\t'
zpty -r -m shell line $'*\2*\3*'
line=${line#*$'\2'}
print -r -- "${${line%%$'\3'*}//$'\r'/}"
zpty -d shell
