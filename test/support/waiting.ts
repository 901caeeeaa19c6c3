/** Polls until `condition` holds, and reports the last state it saw when it never does. */
export async function waitFor<T>(
  what: string,
  look: () => T | Promise<T>,
  isRight: (state: T) => boolean = Boolean,
  timeoutMs = 20_000,
): Promise<T> {
  const giveUpAtMs = performance.now() + timeoutMs;
  for (;;) {
    const state = await look();
    if (isRight(state)) return state;
    if (performance.now() > giveUpAtMs)
      throw new Error(`waited in vain for: ${what}; last seen: ${JSON.stringify(state)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Log lines of a test, by level. */
export class RecordingLogger {
  readonly lines: { readonly level: string; readonly fields: unknown; readonly message: string }[] = [];
  readonly debug = this.recorder('debug');
  readonly info = this.recorder('info');
  readonly warn = this.recorder('warn');
  readonly error = this.recorder('error');

  at(level: string): string[] {
    return this.lines.filter((line) => line.level === level).map(({ message }) => message);
  }

  private recorder(level: string) {
    return (fields: unknown, message: string) => void this.lines.push({ level, fields, message });
  }
}
