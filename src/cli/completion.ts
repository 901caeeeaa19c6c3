/** What a completion script knows of an option. */
export interface OptionText {
  readonly flag: string;
  readonly description: string;
  readonly takesValue: boolean;
}

/** What a completion script knows of the program. */
export interface ProgramText {
  readonly name: string;
  readonly options: readonly OptionText[];
  readonly commands: readonly {
    readonly name: string;
    readonly description: string;
    readonly options: readonly OptionText[];
  }[];
}

/** A script for a shell. Commands and options are constants of ours: nothing of them needs the program to run. */
export function completionScript(shell: 'bash' | 'zsh' | 'fish', program: ProgramText): string {
  if (shell === 'bash') return bash(program);
  return shell === 'zsh' ? zsh(program) : fish(program);
}

function bash({ name, options, commands }: ProgramText): string {
  const flags = (list: readonly OptionText[]) => list.map(({ flag }) => flag).join(' ');
  const cases = commands
    .map((command) => `    ${command.name}) words="${flags([...command.options, ...options])}" ;;`)
    .join('\n');
  return `# ${name} completion bash: source it, or put it into ~/.local/share/bash-completion/completions/${name}
_duroxide_drizzle() {
  local current="\${COMP_WORDS[COMP_CWORD]}" command="" word words
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in
      ${commands.map((command) => command.name).join('|')}) command="$word"; break ;;
    esac
  done
  case "$command" in
    "") words="${commands.map((command) => command.name).join(' ')} ${flags(options)}" ;;
${cases}
  esac
  case "$current" in
    -*|"") COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
    *) if [ -z "$command" ]; then COMPREPLY=($(compgen -W "$words" -- "$current")); else COMPREPLY=($(compgen -f -- "$current")); fi ;;
  esac
}
complete -F _duroxide_drizzle ${name}
`;
}

function zsh({ name, options, commands }: ProgramText): string {
  const spec = ({ flag, description, takesValue }: OptionText) =>
    `'${flag}[${escaped(description)}]${takesValue ? ':value:_files' : ''}'`;
  const described = commands.map((command) => `    '${command.name}:${escaped(command.description)}'`).join('\n');
  const cases = commands
    .map(
      (command) =>
        `    ${command.name}) _arguments ${[...command.options, ...options].map(spec).join(' ')} '*:argument:_files' ;;`,
    )
    .join('\n');
  return `#compdef ${name}
# ${name} completion zsh: put it into a folder of $fpath as _${name}
_duroxide_drizzle() {
  local -a commands
  local command word
  commands=(
${described}
  )
  for word in "\${words[@]:1:$((CURRENT - 2))}"; do
    if (( \${commands[(I)\${word}:*]} )); then command="$word"; break; fi
  done
  case "$command" in
    "") _describe 'command' commands; _arguments ${options.map(spec).join(' ')} ;;
${cases}
  esac
}
compdef _duroxide_drizzle ${name}
`;
}

/** For a text in single quotes, inside of brackets. */
function escaped(text: string): string {
  return text.replaceAll("'", `'\\''`).replace(/[[\]:]/g, '\\$&');
}

function fish({ name, options, commands }: ProgramText): string {
  const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const flag = (option: OptionText) =>
    `-l ${option.flag.replace(/^--?/, '')}${option.takesValue ? ' -r' : ''} -d ${quoted(option.description)}`;
  const names = commands.map((command) => command.name).join(' ');
  return [
    `# ${name} completion fish: put it into ~/.config/fish/completions/${name}.fish`,
    ...commands.map(
      (command) =>
        `complete -c ${name} -n "not __fish_seen_subcommand_from ${names}" -f -a ${command.name} -d ${quoted(command.description)}`,
    ),
    ...options.map((option) => `complete -c ${name} ${flag(option)}`),
    ...commands.flatMap((command) =>
      command.options.map(
        (option) => `complete -c ${name} -n "__fish_seen_subcommand_from ${command.name}" ${flag(option)}`,
      ),
    ),
    '',
  ].join('\n');
}
