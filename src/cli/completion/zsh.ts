import type { ArgumentText, CommandText, OptionText, ProgramText, ValueKind, ValueText } from './program-text.js';

/** For a folder of `$fpath`, or to be sourced behind `compinit`. */
export function zshScript({ name, options, commands }: ProgramText): string {
  return `#compdef ${name}
# ${name} completion zsh: put it into a folder of $fpath as _${name}
_duroxide_drizzle() {
  local curcontext="$curcontext" state line
  typeset -A opt_args
  local -a everywhere commands
  everywhere=(
${options.map((option) => `    ${optionSpec(option)}`).join('\n')}
  )
  # (-): what follows the command is its own.
  _arguments -C $everywhere '(-)1:command:->command' '*::argument:->argument' && return
  case $state in
    command)
      commands=(
${commands.map((command) => `        ${quoted(`${escaped(command.name)}:${command.description}`)}`).join('\n')}
      )
      _describe -t commands command commands ;;
    argument)
      case $words[1] in
${commands.map(commandCase).join('\n')}
      esac ;;
  esac
}
# The first time it is called as the file that zsh has loaded it from.
if [ "$funcstack[1]" = "_${name}" ]; then _duroxide_drizzle "$@"; else compdef _duroxide_drizzle ${name}; fi
`;
}

function commandCase(command: CommandText): string {
  if (command.commands.length === 0) return `        ${command.name}) ${argumentsOf(command)} ;;`;
  const own = command.options.map(optionSpec);
  const names = quoted(`(-)1:command:(${command.commands.map(({ name }) => name).join(' ')})`);
  return `        ${command.name})
          _arguments -C $everywhere ${[...own, names].join(' ')} '*::argument:->behind' && return
          case $words[1] in
${command.commands.map((one) => `            ${one.name}) ${argumentsOf(one)} ;;`).join('\n')}
          esac ;;`;
}

function argumentsOf({ options, arguments: given }: CommandText): string {
  return `_arguments $everywhere ${[...options.map(optionSpec), ...given.map(argumentSpec)].join(' ')}`;
}

function optionSpec({ flags, description, value }: OptionText): string {
  // With `=` it takes its value behind that, too.
  const text = quoted(
    `${value === undefined ? '' : '='}[${escaped(description)}]${value === undefined ? '' : valueSpec(value)}`,
  );
  const [only] = flags;
  return flags.length === 1 ? `${only ?? ''}${text}` : `'(${flags.join(' ')})'{${flags.join(',')}}${text}`;
}

function argumentSpec({ isList, ...value }: ArgumentText, index: number): string {
  return quoted(`${isList ? '*' : String(index + 1)}${valueSpec(value)}`);
}

function valueSpec({ name, kind }: ValueText): string {
  return `:${escaped(name)}:${action(kind)}`;
}

function action(kind: ValueKind): string {
  if (kind === 'file') return '_files';
  if (kind === 'directory') return '_files -/';
  // A space: what it is is shown, and nothing is offered.
  return kind === 'unknown' ? ' ' : `(${kind.join(' ')})`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function escaped(text: string): string {
  return text.replace(/[[\]:\\]/g, '\\$&');
}
