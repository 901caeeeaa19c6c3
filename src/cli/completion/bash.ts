import { type CommandText, flagsWithValue, type OptionText, type ProgramText, type ValueKind } from './program-text.js';

/** For bash 3.2 and later, without the package bash-completion. */
export function bashScript(program: ProgramText): string {
  const { name, options, commands } = program;
  const flags = (list: readonly OptionText[]) => list.flatMap((option) => option.flags).join(' ');
  const names = commands.map((command) => command.name);
  return `# ${name} completion bash: source it, or put it into ~/.local/share/bash-completion/completions/${name}
_duroxide_drizzle() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local command="" word words="" flags="" files="" value=0 i
  # Bash makes words of its own of --option=value.
  if [ "$current" = "=" ]; then current=""
  elif [ "$previous" = "=" ] && [ "$COMP_CWORD" -gt 2 ]; then previous="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    if [ "$value" = 1 ] && [ "$word" != "=" ]; then value=0; continue; fi
    case "$word" in
      ${flagsWithValue(program).join('|')}) value=1 ;;
      ${names.join('|')}) [ -n "$command" ] || command="$word" ;;
    esac
  done
  if [ "$value" = 1 ]; then
    case "$command:$previous" in
${[...options.flatMap((option) => valueCase('*', option)), ...commands.flatMap((command) => command.options.flatMap((option) => valueCase(command.name, option)))].join('\n')}
    esac
  else
    case "$command" in
      "") words="${names.join(' ')}"; flags="${flags(options)}" ;;
${commands.map((command) => commandCase(command, flags([...command.options, ...options]))).join('\n')}
    esac
    case "$current" in -*) words="$flags"; files="" ;; esac
  fi
  local IFS=$' \\n'
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ -n "$files" ] || return 0
  if [ "$(type -t compopt)" = builtin ]; then compopt -o filenames; fi
  IFS=$'\\n'
  COMPREPLY+=($(compgen "$files" -- "$current"))
}
complete -F _duroxide_drizzle ${name}
`;
}

function valueCase(command: string, { flags, value }: OptionText): string[] {
  if (value === undefined || value.kind === 'unknown') return [];
  return [`      ${flags.map((flag) => `${command}:${flag}`).join('|')}) ${suggestion(value.kind)} ;;`];
}

function commandCase({ name, arguments: given }: CommandText, flags: string): string {
  const kind = given.find((argument) => argument.kind !== 'unknown')?.kind;
  return `      ${name}) ${kind === undefined ? '' : `${suggestion(kind)}; `}flags="${flags}" ;;`;
}

function suggestion(kind: ValueKind): string {
  if (kind === 'file') return 'files=-f';
  if (kind === 'directory') return 'files=-d';
  return `words="${kind === 'unknown' ? '' : kind.join(' ')}"`;
}
