import { bashScript } from './bash.js';
import { fishScript } from './fish.js';
import type { ProgramText } from './program-text.js';
import { zshScript } from './zsh.js';

/** A script for a shell. Commands and options are constants of ours: nothing of them needs the program to run. */
export function completionScript(shell: 'bash' | 'zsh' | 'fish', program: ProgramText): string {
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](program);
}
