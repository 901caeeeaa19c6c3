import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { type RuntimeOptions, resolveRuntimeOptions } from '../../src/runtime/options.js';
import { COMPAT_VERSION_TEXT } from '../../src/wire/compat-version.js';

const rows = [...readFileSync('docs/guides/runtime-options.md', 'utf8').matchAll(/^\| `([\w.]+)` \| (.*?) \| /gm)].map(
  ([, option = '', value = '']) => ({ option, value: value.replaceAll('`', '') }),
);

/** The options as the interface has them; a group's own are those of its group only where no flat one is the same. */
function declared(): string[] {
  const source = ts.createSourceFile('', readFileSync('src/runtime/options.ts', 'utf8'), ts.ScriptTarget.ES2022);
  const options = source.statements.find(
    (each): each is ts.InterfaceDeclaration => ts.isInterfaceDeclaration(each) && each.name.text === 'RuntimeOptions',
  );
  const names = (members: ts.NodeArray<ts.TypeElement>, before = ''): string[] =>
    members.filter(ts.isPropertySignature).flatMap(({ name, type }) => {
      const path = `${before}${(name as ts.Identifier).text}`;
      const isGroup = ['unregisteredBackoff', 'observability'].includes(path);
      return isGroup && type && ts.isTypeLiteralNode(type) ? names(type.members, `${path}.`) : [path];
    });
  const all = names(options?.members ?? ts.factory.createNodeArray());
  return all.filter((path) => !path.startsWith('observability.') || !all.includes(path.replace('observability.', '')));
}

test('every option of the runtime stands in the guide, once', () => {
  expect(declared().length).toBeGreaterThan(30);
  expect(rows.map(({ option }) => option).sort()).toEqual(declared().sort());
});

test('the guide says the defaults that the runtime has', () => {
  const given: RuntimeOptions = { warnRawCalls: false };
  const resolved = { ...resolveRuntimeOptions(given) } as Record<string, unknown>;
  const { unregisteredBaseDelayMs, unregisteredMaxDelayMs, gaugePollIntervalMs, pollIntervalMs, tagFilter } = resolved;
  const elsewhere: Record<string, unknown> = {
    'unregisteredBackoff.baseDelayMs': unregisteredBaseDelayMs,
    'unregisteredBackoff.maxDelayMs': unregisteredMaxDelayMs,
    'observability.gaugePollIntervalMs': gaugePollIntervalMs,
    dispatcherPollIntervalMs: pollIntervalMs,
    dispatcherMinPollIntervalMs: pollIntervalMs,
    workerTagFilter: (tagFilter as { kind: string }).kind,
    supportedReplayVersions: `0.0.0 to ${COMPAT_VERSION_TEXT}`,
  };
  const text = (value: unknown) => (typeof value === 'number' ? value.toLocaleString('en-US') : String(value));
  // These depend on the schema or the process, or have no effect; what they say is words.
  const words = ['maxPollIntervalMs', 'dispatcherLongPollTimeoutMs', 'workerTagFilterTags', 'workerNodeId'];
  const objects = ['logger', 'telemetry', 'clock', 'serviceVersion'];
  for (const { option, value } of rows) {
    if (words.includes(option) || objects.includes(option)) continue;
    expect({ option, value }).toEqual({ option, value: text(elsewhere[option] ?? resolved[option]) });
  }
});
