/** What may stand for a value: files, directories, one of some words, or something that no script can know. */
export type ValueKind = 'file' | 'directory' | 'unknown' | readonly string[];

/** What a completion script knows of a value. */
export interface ValueText {
  /** What it is, in a word. */
  readonly name: string;
  readonly kind: ValueKind;
}

/** What a completion script knows of an option. */
export interface OptionText {
  /** With its dashes; the long one last. */
  readonly flags: readonly string[];
  readonly description: string;
  /** Absent: it takes none. */
  readonly value?: ValueText;
}

export interface ArgumentText extends ValueText {
  /** Whether it can be given several times. */
  readonly isList: boolean;
}

export interface CommandText {
  readonly name: string;
  readonly description: string;
  readonly options: readonly OptionText[];
  readonly arguments: readonly ArgumentText[];
  /** Commands of its own; those that it has are what its first argument says, and its options are of the one that is the default. */
  readonly commands: readonly CommandText[];
}

/** What a completion script knows of the program. */
export interface ProgramText {
  readonly name: string;
  /** Of every command. */
  readonly options: readonly OptionText[];
  readonly commands: readonly CommandText[];
}

/** A command with those behind it, each with the words that lead to it. */
export interface CommandPath {
  readonly path: readonly string[];
  readonly command: CommandText;
}

/** All commands, those behind others too. */
export function allCommands({ commands }: Pick<ProgramText, 'commands'>): CommandPath[] {
  return commands.flatMap((command) => [
    { path: [command.name], command },
    ...command.commands.map((one) => ({ path: [command.name, one.name], command: one })),
  ]);
}

/** All flags behind which a value follows. */
export function flagsWithValue(program: ProgramText): string[] {
  const all = [...program.options, ...allCommands(program).flatMap(({ command }) => command.options)];
  return [...new Set(all.filter(({ value }) => value !== undefined).flatMap(({ flags }) => flags))];
}
