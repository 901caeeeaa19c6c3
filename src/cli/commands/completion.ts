import { Argument, type Command } from 'commander';
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
        const { completionScript } = await import('../completion.js');
        ctx.io.stdout.write(completionScript(shell, described(program)));
      }),
    );
};

/** Commands and options, as they were declared. */
function described(program: Command) {
  const optionsOf = (command: Command) =>
    command.options.map(({ long, short, description, required, optional }) => ({
      flag: long ?? short ?? '',
      description,
      takesValue: required || optional,
    }));
  return {
    name: program.name(),
    options: [...optionsOf(program), { flag: '--help', description: 'show help', takesValue: false }],
    commands: program.commands.map((command) => ({
      name: command.name(),
      description: command.description(),
      options: optionsOf(command),
    })),
  };
}
