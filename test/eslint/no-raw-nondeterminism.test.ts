import { describe, test } from '@jest/globals';
import { RuleTester } from 'eslint';
import duroxide from '../../src/eslint/index.js';
import { noRawNondeterminism } from '../../src/eslint/no-raw-nondeterminism.js';

RuleTester.describe = describe;
RuleTester.it = test;

const raw = (what: string, instead: string) => ({ messageId: 'raw', data: { what, instead } });
const effect = (what: string, instead: string) => ({ messageId: 'effect', data: { what, instead } });

new RuleTester().run('no-raw-nondeterminism', noRawNondeterminism, {
  valid: [
    `const at = Date.now(); orchestration('o', async (ctx) => ctx.now());`,
    `activity('a', async () => [Date.now(), Math.random(), new Date(), setTimeout(f, 1)]);`,
    `runtime.registerActivity('a', () => crypto.randomUUID());`,
    `orchestration('o', async (ctx, at) => new Date(at).getTime());`,
    `orchestration('o', async (ctx) => ctx.random());`,
    `declareActivity('a').implement(() => Date.now());`,
    `async function a() { return Date.now(); } activity('a', a); const b = a(1);`,
    `const a = () => Math.random(); runtime.registerActivity('a', a);`,
    `function o(ctx) { return ctx.now(); } function other() { return Date.now(); } orchestration('o', o);`,
    `orchestration('o', async (ctx) => { const a = activity('a', () => Date.now()); return ctx.call(a); });`,
    // Helpers that no orchestration names, also where they name each other.
    `const at = () => Date.now(); activity('a', () => at()); orchestration('o', async (ctx) => ctx.now());`,
    `function a() { b(); return Date.now(); } function b() { return a(); } activity('a', b);`,
    `const at = () => Date.now(); orchestration('o', async (ctx) => ctx.call(activity('a', at)));`,
    `orchestration('o', async (ctx) => { const at = () => ctx.now(); return at(); }); const at = () => Date.now();`,
    `activity('a', async () => { console.log('at work'); return fetch('https://a.example'); });`,
    // Names of the file, not the platform's.
    `import { fetch } from './durable.js'; orchestration('o', async (ctx) => fetch(ctx));`,
    `orchestration('o', async (ctx) => { const console = ctx.log; console.info('asked'); });`,
  ],
  invalid: [
    { code: `orchestration('o', async () => Date.now());`, errors: [raw('Date.now()', 'ctx.now()')] },
    { code: `orchestration('o', async () => new Date());`, errors: [raw('new Date()', 'ctx.now()')] },
    { code: `orchestration('o', async () => Date());`, errors: [raw('Date()', 'ctx.now()')] },
    { code: `orchestration('o', function* () { Math.random(); });`, errors: [raw('Math.random()', 'ctx.random()')] },
    {
      code: `orchestration('o', async (ctx) => { const f = () => globalThis.crypto.randomUUID(); return f(); });`,
      errors: [raw('crypto.randomUUID()', 'ctx.newGuid()')],
    },
    {
      code: `runtime.registerOrchestration('o', function* () { return Date.now(); });`,
      errors: [raw('Date.now()', 'ctx.now()')],
    },
    {
      code: `runtime.registerOrchestrationVersionedTyped('o', '1.0.0', function* () { return performance.now(); });`,
      errors: [raw('performance.now()', 'ctx.now()')],
    },
    {
      code: `import { randomUUID } from 'node:crypto'; orchestration('o', async () => randomUUID());`,
      errors: [raw('randomUUID()', 'ctx.newGuid()')],
    },
    {
      code: `orchestration('o', async () => crypto.getRandomValues(new Uint8Array(4)));`,
      errors: [raw('crypto.getRandomValues()', 'ctx.random()')],
    },
    {
      code: `orchestration('o', async () => process.hrtime.bigint());`,
      errors: [raw('process.hrtime.bigint()', 'ctx.now()')],
    },
    {
      code: `declareOrchestration('o').implement(async () => Math.random());`,
      errors: [raw('Math.random()', 'ctx.random()')],
    },
    {
      code: `async function o(ctx) { return Date.now(); } export const checkout = orchestration('o', o);`,
      errors: [raw('Date.now()', 'ctx.now()')],
    },
    {
      code: `const o = function* (ctx) { const f = () => Math.random(); return f(); }; runtime.registerOrchestration('o', o);`,
      errors: [raw('Math.random()', 'ctx.random()')],
    },
    {
      code: `orchestration('o', o); const o = async () => { setTimeout(f, 1); };`,
      errors: [{ messageId: 'timer', data: { what: 'setTimeout()' } }],
    },
    {
      code: `orchestration('o', async () => { await new Promise((r) => setTimeout(r, 1)); });`,
      errors: [{ messageId: 'timer', data: { what: 'setTimeout()' } }],
    },
    // Functions of the file that the orchestration names.
    {
      code: `const helper = () => Date.now(); orchestration('o', async () => helper());`,
      errors: [raw('Date.now()', 'ctx.now()')],
    },
    {
      code: `orchestration('o', async () => outer()); function outer() { return inner(); } function inner() { return Math.random(); }`,
      errors: [raw('Math.random()', 'ctx.random()')],
    },
    {
      code: `function helper(n) { return n ? helper(n - 1) : Date.now(); } orchestration('o', async () => [1].map(helper));`,
      errors: [raw('Date.now()', 'ctx.now()')],
    },
    {
      code: `const at = () => Date.now(); activity('a', at); const run = async () => at(); orchestration('o', run);`,
      errors: [raw('Date.now()', 'ctx.now()')],
    },
    // What a replay does once more.
    {
      code: `orchestration('o', async () => { console.log('asked'); console.error('again'); });`,
      errors: [effect('console.log()', 'ctx.log.info()'), effect('console.error()', 'ctx.log.error()')],
    },
    {
      code: `orchestration('o', async () => globalThis.fetch('https://a.example'));`,
      errors: [effect('fetch()', 'an activity')],
    },
  ],
});

// The recommended configuration, as a flat configuration takes it.
new RuleTester({ plugins: { 'duroxide-drizzle': duroxide } }).run('recommended', noRawNondeterminism, {
  valid: [`orchestration('o', async (ctx) => ctx.now());`],
  invalid: [{ code: `orchestration('o', async () => Date.now());`, errors: 1 }],
});
