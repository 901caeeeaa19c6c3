import { Argument, type Command } from 'commander';
import type { ArgumentText, CommandText, OptionText, ProgramText, ValueKind } from '../completion/program-text.js';
import type { CliContext } from '../context.js';
import type { DefineCommand } from '../define.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

export const completionCommand: DefineCommand = (program, act) => {
  program
    .command('completion')
    .description('a script that teaches a shell the commands and their options')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .action(
      act(async (ctx: CliContext, shell: Shell) => {
        const { completionScript } = await import('../completion/index.js');
        ctx.io.stdout.write(completionScript(shell, described(program)));
      }),
    );
};

const HELP: OptionText = { flags: ['-h', '--help'], description: 'show help' };

/** Commands and options, as they were declared. */
function described(program: Command): ProgramText {
  return {
    name: program.name(),
    options: [...optionsOf(program), HELP],
    commands: program.commands.map(commandOf),
  };
}

function commandOf(command: Command): CommandText {
  const commands = command.commands.map(commandOf);
  // Said without a word, it is the first of its own, which are declared so.
  const [byDefault] = commands;
  return {
    name: command.name(),
    description: command.description(),
    options: [...optionsOf(command), ...(byDefault?.options ?? [])],
    arguments: argumentsOf(command),
    commands,
  };
}

function argumentsOf(command: Command): ArgumentText[] {
  if (command.commands.length > 0) {
    return [{ name: 'command', kind: command.commands.map((one) => one.name()), isList: false }];
  }
  return command.registeredArguments.map((argument): ArgumentText => {
    const name = argument.name();
    return { name, kind: argument.argChoices ?? kindOf(name), isList: argument.variadic };
  });
}

function optionsOf(command: Command): OptionText[] {
  return command.options.map(({ long, short, flags, description, argChoices }) => {
    const [, name] = /[<[]([^\].>]+)/.exec(flags) ?? [];
    return {
      flags: [short, long].filter((flag) => flag !== undefined),
      description,
      ...(name === undefined ? {} : { value: { name, kind: argChoices ?? kindOf(name) } }),
    };
  });
}

/** By the name that the help gives a value. */
function kindOf(name: string): ValueKind {
  if (/^files?$/.test(name)) return 'file';
  return name === 'directory' ? 'directory' : 'unknown';
}
