/** Frames of a stack that a report shows: enough to find the line, short enough for a log. */
const STACK_FRAMES = 12;

/** The stack of the caller. */
export function stackHere(): string {
  const holder: { stack?: string } = {};
  Error.captureStackTrace(holder);
  return holder.stack ?? '';
}

/** The lines of a stack that are neither Node's nor ours: where the user's code stands. */
export function userFrames(stack: string): string {
  return stack
    .split('\n')
    .filter((line) => /^ +at /.test(line) && !/node:|<anonymous>\)/.test(line) && !line.includes(OWN_FOLDER))
    .slice(0, STACK_FRAMES)
    .join('\n');
}

/** The folder of the package's code, as stacks show it. */
const OWN_FOLDER = ownFolder(stackHere());

function ownFolder(stack: string): string {
  const [, file = ''] = /at (?:.*\()?(.+?):\d+:\d+\)?$/m.exec(stack) ?? [];
  const [, source] = /^(.*[/\\]src[/\\])runtime[/\\]async[/\\]/.exec(file) ?? [];
  return source ?? file.replace(/[^/\\]*$/, '');
}
