import type { Command } from 'commander';

/**
 * A group of commands that, without a word behind it, does what its `list` does. Another
 * word is no prefix of ids but a command that is not there: a slip must not look like success.
 */
export function listedByDefault(group: Command, list: (prefix: undefined, command: Command) => Promise<void>): void {
  group
    .helpCommand(true)
    .allowExcessArguments()
    .action((_options: object, command: Command & { unknownCommand?: () => never }) => {
      // Commander's own, which suggests what is alike; its types leave it out.
      if (command.args.length > 0) command.unknownCommand?.();
      return list(undefined, command);
    });
}
