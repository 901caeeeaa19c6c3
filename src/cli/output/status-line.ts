import { clearLine, cursorTo } from 'node:readline';
import type { Writable } from 'node:stream';
import { shortened } from './text.js';

/** How often the line is drawn. */
const DRAWN_EVERY_MS = 100;

/** The terminal that a {@link StatusLine} is drawn on. */
export interface StatusTerminal {
  readonly stream: Writable;
  /** Its width now: terminals are made larger and smaller while a command works. */
  columns(): number;
}

/**
 * The last line of a terminal, drawn over and over while something works.
 *
 * It only writes. A library that takes the keyboard for it (as @clack/prompts does) makes Ctrl-C
 * a key like any other, and a command could not end in order.
 */
export class StatusLine {
  private timer: NodeJS.Timeout | undefined;
  private drawn: string | undefined;

  constructor(
    private readonly terminal: StatusTerminal,
    /** What it says now; it is cut at the terminal's edge, so it has no colors. */
    private readonly text: (columns: number) => string,
  ) {}

  /** Draws it until {@link clear}. */
  start(): void {
    this.timer = setInterval(() => this.draw(), DRAWN_EVERY_MS);
    this.draw();
  }

  /** Takes it away. */
  clear(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.erase();
  }

  /** Lets something else be written, above the line. */
  above(write: () => void): void {
    this.erase();
    write();
    if (this.timer) this.draw();
  }

  private draw(): void {
    // One column stays free: a full line makes some terminals begin another.
    const columns = Math.max(1, this.terminal.columns() - 1);
    const text = shortened(this.text(columns), columns);
    if (text === this.drawn) return;
    this.erase();
    this.terminal.stream.write(text);
    this.drawn = text;
  }

  private erase(): void {
    if (this.drawn === undefined) return;
    cursorTo(this.terminal.stream, 0);
    clearLine(this.terminal.stream, 0);
    this.drawn = undefined;
  }
}
