import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** A program in a page of the documentation. */
export interface CodeBlock {
  /** Page and line, such as `docs/guides/children.md:8`. */
  readonly place: string;
  readonly language: 'ts' | 'js';
  readonly code: string;
  /** What its lines `// → …` say that it prints, in order. */
  readonly prints: readonly string[];
  /** Why it is not run, from a comment `<!-- not run: … -->` above it. In TypeScript it is compiled all the same. */
  readonly notRun: string | undefined;
  /** The name under which others of its page import it, from a first line such as `// subscribe.ts`. */
  readonly fileName: string | undefined;
}

/** The pages that people read; the generated reference has no programs. */
export function pages(root: string): string[] {
  const below = (folder: string): string[] =>
    readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const file = path.posix.join(folder, entry.name);
      if (entry.isDirectory()) return file === 'docs/api' ? [] : below(file);
      return entry.name.endsWith('.md') ? [file] : [];
    });
  return ['README.md', ...below('docs')].sort();
}

/** All programs in TypeScript or JavaScript of a page. */
export function codeBlocks(root: string, page: string): CodeBlock[] {
  const lines = readFileSync(path.join(root, page), 'utf8').split('\n');
  const blocks: CodeBlock[] = [];
  for (let n = 0; n < lines.length; n++) {
    const fence = /^\s*```(ts|js|tsx|typescript|javascript)\b/.exec(lines[n] ?? '');
    if (!fence) continue;
    const end = lines.findIndex((line, at) => at > n && /^\s*```\s*$/.test(line));
    const code = lines.slice(n + 1, end);
    blocks.push({
      place: `${page}:${n + 1}`,
      language: fence[1]?.startsWith('t') ? 'ts' : 'js',
      code: code.join('\n'),
      prints: code.flatMap((line) => /\/\/ → (.*)$/.exec(line)?.[1] ?? []),
      fileName: /^\/\/ ([\w-]+(?:\.test)?\.ts)$/.exec(code[0] ?? '')?.[1],
      notRun: /<!-- not run: (.*) -->/.exec(lines[n - 1] ?? '')?.[1],
    });
    n = end;
  }
  return blocks;
}
