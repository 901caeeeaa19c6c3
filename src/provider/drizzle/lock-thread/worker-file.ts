import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The program of the thread: it lies beside the file that this module is in, with the same
 * ending, in the ES module build and in the CommonJS build.
 */
export function workerFile(): string {
  const here = import.meta.url;
  return fileURLToPath(new URL(`./lock-thread-worker${extname(new URL(here).pathname)}`, here));
}
