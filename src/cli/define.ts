import type { Command } from 'commander';
import type { CliContext } from './context.js';
import type { ExitCode } from './exit-codes.js';

/** What a command does; nothing answered is success. Arguments come first, then the options. */
export type Run<Args extends unknown[]> = (ctx: CliContext, ...args: Args) => Promise<ExitCode | undefined | void>;

/** Makes a commander action of what a command does. */
export type Act = <Args extends unknown[]>(run: Run<Args>) => (...args: [...Args, Command]) => Promise<void>;

/**
 * Adds a command. The declaration must be cheap, because `--help` and completion run all of
 * them: what a command needs beside its options it imports when it runs.
 */
export type DefineCommand = (program: Command, act: Act) => void;
