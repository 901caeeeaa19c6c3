# The shell that zsh-capture.zsh looks at.
autoload -Uz compinit
compinit -u -D
bindkey '^I' complete-word
zstyle ':completion:*' verbose no
zstyle ':completion:*' insert-tab no
# Each is called once, unless it asks for more.
begin() { print -n $'\2'; compprefuncs=(begin) }
finish() { print -n $'\3'; comppostfuncs=(finish) }
compprefuncs=(begin)
comppostfuncs=(finish)
compadd() {
  # These only ask what would fit.
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
    builtin compadd "$@"
    return
  fi
  local -a fitting
  builtin compadd -A fitting "$@"
  (( $#fitting )) && print -rl -- $fitting
  builtin compadd "$@"
}
print rea''dy
