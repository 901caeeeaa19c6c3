import { allCommands, flagsWithValue, type OptionText, type ProgramText, type ValueKind } from './program-text.js';

export function fishScript(program: ProgramText): string {
  const { name, options, commands } = program;
  const complete = `complete -c ${name}`;
  return `# ${name} completion fish: put it into ~/.config/fish/completions/${name}.fish

# Whether the words of the command begin so; without arguments: whether there is none yet. An empty word: none yet.
function __duroxide_drizzle_at
    set -l command
    set -l value 0
    for word in (commandline -opc)[2..-1]
        if test $value = 1
            set value 0
            continue
        end
        switch $word
            case ${flagsWithValue(program).join(' ')}
                set value 1
            case '-*'
            case '*'
                set -a command $word
        end
    end
    switch (count $argv)
        case 0
            test (count $command) = 0
        case 1
            test "$command[1]" = "$argv[1]"
        case '*'
            test "$command[1]" = "$argv[1]"; and test "$command[2]" = "$argv[2]"
    end
end

${complete} -f
${commands.map((command) => `${complete} -n __duroxide_drizzle_at -a ${command.name} -d ${quoted(command.description)}`).join('\n')}
${options.map((option) => `${complete} ${optionText(option)}`).join('\n')}
${allCommands(program)
  .flatMap(({ path, command }) => {
    const words = command.commands.length > 0 ? [...path, "''"] : path;
    const at = `${complete} -n "__duroxide_drizzle_at ${words.join(' ')}"`;
    const [known] = command.arguments.filter(({ kind }) => kind !== 'unknown');
    return [
      ...(known === undefined ? [] : [`${at} ${suggestion(known.kind)}`]),
      ...command.options.map((option) => `${at} ${optionText(option)}`),
    ];
  })
  .join('\n')}
`;
}

function optionText({ flags, description, value }: OptionText): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const taken = value === undefined ? '' : ` ${value.kind === 'unknown' ? '-x' : `-r ${suggestion(value.kind)}`}`;
  return `${names.join(' ')}${taken} -d ${quoted(description)}`;
}

function suggestion(kind: ValueKind): string {
  if (kind === 'file') return '-F';
  if (kind === 'directory') return `-f -a '(__fish_complete_directories)'`;
  return kind === 'unknown' ? '-f' : `-f -a ${quoted(kind.join(' '))}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
