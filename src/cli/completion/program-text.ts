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
}

/** What a completion script knows of the program. */
export interface ProgramText {
  readonly name: string;
  /** Of every command. */
  readonly options: readonly OptionText[];
  readonly commands: readonly CommandText[];
}

/** All flags behind which a value follows. */
export function flagsWithValue({ options, commands }: ProgramText): string[] {
  const all = [...options, ...commands.flatMap((command) => command.options)];
  return [...new Set(all.filter(({ value }) => value !== undefined).flatMap(({ flags }) => flags))];
}
