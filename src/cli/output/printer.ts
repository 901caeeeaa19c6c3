import pc from 'picocolors';
import type { CliIo } from '../io.js';
import { withoutControls } from './text.js';

/** What of the last column has to be seen. */
const MIN_LAST_COLUMN = 10;

export type Colors = ReturnType<typeof pc.createColors>;

/** Writes to the terminal: text for people, or one JSON document per answer. */
export class Printer {
  readonly colors: Colors;
  /** Whether somebody sits there who sees progress and can be asked. */
  readonly isInteractive: boolean;

  constructor(
    private readonly io: CliIo,
    readonly json: boolean,
    color: boolean | undefined,
  ) {
    this.colors = pc.createColors(color ?? mayColor(io));
    this.isInteractive = !json && io.stdin.isTTY === true && io.stdout.isTTY === true && io.stderr.isTTY === true;
  }

  /** How wide the terminal is, where there is one that says so. */
  get columns(): number | undefined {
    const { isTTY, columns } = this.io.stdout;
    return isTTY && columns !== undefined && columns > 0 ? columns : undefined;
  }

  /** A line on stdout. */
  line(text = ''): void {
    this.io.stdout.write(`${text}\n`);
  }

  /** A remark beside the answer, on stderr. */
  note(text: string): void {
    if (!this.json) this.io.stderr.write(`${text}\n`);
  }

  /** The whole answer, when `--json` was asked for. */
  document(value: unknown): void {
    this.io.stdout.write(`${JSON.stringify(value, null, this.io.stdout.isTTY ? 2 : undefined)}\n`);
  }

  /** What has a text and a JSON form. */
  answer(value: unknown, text: () => void): void {
    if (this.json) this.document(value);
    else text();
  }

  /**
   * Rows below their headings, columns as wide as they need. On a terminal that is too narrow the
   * columns that can be missed are left out, in the order given; what is still too long is cut.
   */
  table(
    headings: readonly string[],
    rows: readonly (readonly string[])[],
    { canMiss = [] }: { readonly canMiss?: readonly string[] } = {},
  ): void {
    const clean = rows.map((row) => row.map(withoutControls));
    const widths = headings.map((heading, column) =>
      clean.reduce((widest, row) => Math.max(widest, width(row[column] ?? '')), heading.length),
    );
    const left = [...canMiss];
    const kept = new Set(headings.keys());
    // The last column is one that may be cut.
    const needed = () => [...kept].slice(0, -1).reduce((sum, column) => sum + (widths[column] ?? 0) + 2, 0);
    while (left.length > 0 && needed() + MIN_LAST_COLUMN > (this.columns ?? Infinity)) {
      kept.delete(headings.indexOf(left.shift() ?? ''));
    }
    this.rows(
      [...kept].map((column) => widths[column] ?? 0),
      [headings, ...clean].map((row) => [...kept].map((column) => row[column] ?? '')),
    );
  }

  private rows(widths: readonly number[], [headings = [], ...clean]: readonly (readonly string[])[]): void {
    const render = (cells: readonly string[]) =>
      cells
        .map((cell, column) =>
          column === cells.length - 1 ? cell : cell + ' '.repeat((widths[column] ?? 0) - width(cell)),
        )
        .join('  ');
    this.line(this.colors.dim(this.cut(render(headings))));
    for (const row of clean) this.line(this.colorStatus(this.cut(render(row))));
  }

  /** A status in its colour. */
  status(status: string): string {
    const { green, red, cyan, dim } = this.colors;
    const paint = { Completed: green, Failed: red, Running: cyan, ContinuedAsNew: dim }[status];
    return paint ? paint(status) : withoutControls(status);
  }

  private colorStatus(line: string): string {
    return line.replace(/(?<= {2}|^)(Completed|Failed|Running|ContinuedAsNew)(?= {2}|$)/, (status) =>
      this.status(status),
    );
  }

  private cut(line: string): string {
    const columns = this.columns;
    if (columns === undefined || width(line) <= columns) return line.trimEnd();
    return `${[...line].slice(0, Math.max(1, columns - 1)).join('')}…`;
  }
}

/** https://no-color.org, and a terminal that can. */
function mayColor({ env, stdout }: CliIo): boolean {
  if (env['NO_COLOR'] !== undefined && env['NO_COLOR'] !== '') return false;
  return stdout.isTTY === true && env['TERM'] !== 'dumb';
}

function width(text: string): number {
  return [...text].length;
}
