import {
  allCommands,
  type CommandPath,
  flagsWithValue,
  type OptionText,
  type ProgramText,
  type ValueKind,
} from './program-text.js';

/** For bash 3.2 and later, without the package bash-completion. */
export function bashScript(program: ProgramText): string {
  const { name, options, commands } = program;
  const flags = (list: readonly OptionText[]) => list.flatMap((option) => option.flags).join(' ');
  const names = commands.map((command) => command.name);
  const paths = allCommands(program);
  const behind = paths.filter(({ path }) => path.length > 1).map(({ path }) => quoted(path));
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
      ${flagsWithValue(program).join('|')}) value=1; continue ;;
      -*) continue ;;
    esac
    if [ -z "$command" ]; then
      case "$word" in ${names.join('|')}) command="$word" ;; esac
    else
      case "$command $word" in ${behind.join('|')}) command="$command $word" ;; esac
    fi
  done
  if [ "$value" = 1 ]; then
    case "$command:$previous" in
${[...options.flatMap((option) => valueCase('*', option)), ...paths.flatMap(({ path, command }) => command.options.flatMap((option) => valueCase(quoted(path), option)))].join('\n')}
    esac
  else
    case "$command" in
      "") words="${names.join(' ')}"; flags="${flags(options)}" ;;
${paths.map((one) => commandCase(one, flags([...one.command.options, ...options]))).join('\n')}
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

function commandCase({ path, command }: CommandPath, flags: string): string {
  const kind = command.arguments.find((argument) => argument.kind !== 'unknown')?.kind;
  return `      ${quoted(path)}) ${kind === undefined ? '' : `${suggestion(kind)}; `}flags="${flags}" ;;`;
}

/** As a pattern of `case`. */
function quoted(path: readonly string[]): string {
  return path.length === 1 ? path.join('') : `"${path.join(' ')}"`;
}

function suggestion(kind: ValueKind): string {
  if (kind === 'file') return 'files=-f';
  if (kind === 'directory') return 'files=-d';
  return `words="${kind === 'unknown' ? '' : kind.join(' ')}"`;
}
