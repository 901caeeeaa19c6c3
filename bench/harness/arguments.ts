import { parseArgs } from 'node:util';

/** What every benchmark understands. */
export interface BenchArguments {
  /** Shorter runs and fewer combinations: minutes instead of a quarter of an hour. */
  readonly quick: boolean;
  /** Where the results go as JSON; absent: nowhere. */
  readonly json: string | undefined;
  readonly seed: number;
  /** Engines that take part; empty: all. */
  readonly engines: readonly string[];
  /** Parts of names; empty: everything. */
  readonly only: readonly string[];
}

const USAGE = `options:
  --quick        shorter runs, fewer combinations
  --json FILE    write the results as JSON, too
  --engines A,B  only these engines take part
  --seed N       seed of what is random (default 1)
  names          run only what contains one of them`;

/** @throws after printing the usage when an option is unknown. */
export function benchArguments(argv: readonly string[] = process.argv.slice(2)): BenchArguments {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        quick: { type: 'boolean' },
        json: { type: 'string' },
        seed: { type: 'string' },
        engines: { type: 'string' },
      },
    });
    return {
      quick: values.quick ?? false,
      json: values.json,
      seed: Number(values.seed ?? 1),
      engines: values.engines?.split(',') ?? [],
      only: positionals,
    };
  } catch (error) {
    console.error(USAGE);
    throw error;
  }
}

/** Whether `name` was asked for. */
export function isWanted({ only }: BenchArguments, name: string): boolean {
  return only.length === 0 || only.some((part) => name.includes(part));
}
