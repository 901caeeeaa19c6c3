import type { Rule } from 'eslint';

type Node = Rule.Node;

/** What the context offers in place of the raw call. */
const COUNTERPARTS: Readonly<Record<string, string>> = {
  'Date.now': 'ctx.now()',
  'performance.now': 'ctx.now()',
  'Math.random': 'ctx.random()',
  'crypto.randomUUID': 'ctx.newGuid()',
  'crypto.getRandomValues': 'ctx.random()',
  'crypto.randomBytes': 'ctx.random()',
  'crypto.randomInt': 'ctx.random()',
  'process.hrtime': 'ctx.now()',
  'process.hrtime.bigint': 'ctx.now()',
  // As they are imported from `node:crypto`.
  randomUUID: 'ctx.newGuid()',
  randomBytes: 'ctx.random()',
  randomInt: 'ctx.random()',
};
const TIMERS = new Set(['setTimeout', 'setInterval', 'setImmediate']);
/** What a replay does once more. Names of the platform only: a file may declare a `fetch` of its own. */
const EFFECTS: Readonly<Record<string, string>> = {
  fetch: 'an activity',
  'console.log': 'ctx.log.info()',
  'console.info': 'ctx.log.info()',
  'console.debug': 'ctx.log.debug()',
  'console.warn': 'ctx.log.warn()',
  'console.error': 'ctx.log.error()',
};
const DROP_IN = /^registerOrchestration(Versioned)?(Typed)?$/;

/**
 * Reports raw time, chance, timers, `fetch` and `console` in the code of orchestrations: what
 * `orchestration(…)`, `declared.implement(…)` and `registerOrchestration…(…)` are given, as it
 * stands there or by the name of a function of the same file, and the functions of that file
 * that such code names in turn. A replay would get other values than the run before it, or
 * repeat what that did.
 */
export const noRawNondeterminism: Rule.RuleModule = {
  meta: {
    type: 'problem',
    docs: { description: 'disallow time, chance, timers and effects that a replay cannot repeat in orchestrations' },
    messages: {
      raw: '{{what}} gives another value on each replay of the orchestration; use {{instead}}.',
      effect: '{{what}} is done again by each replay of the orchestration; use {{instead}}.',
      timer: '{{what}} is not durable: its orchestration would be put off; use ctx.sleep(ms).',
    },
    schema: [],
  },
  create(context) {
    const { sourceCode } = context;
    const isReplayed = (node: Node): boolean => isInOrchestration(node, (of) => sourceCode.getDeclaredVariables(of));
    const report = (node: Node, messageId: string, data: Record<string, string>): void => {
      if (isReplayed(node)) context.report({ node, messageId, data });
    };
    return {
      CallExpression(node) {
        const name = nameOf(node.callee as Node);
        if (name === undefined) return;
        const what = `${name}()`;
        const instead = COUNTERPARTS[name] ?? (name === 'Date' ? 'ctx.now()' : undefined);
        const effect = EFFECTS[name];
        if (instead !== undefined) report(node, 'raw', { what, instead });
        else if (TIMERS.has(name)) report(node, 'timer', { what });
        else if (effect !== undefined && isOfPlatform(node.callee as Node, sourceCode))
          report(node, 'effect', { what, instead: effect });
      },
      NewExpression(node) {
        if (nameOf(node.callee as Node) === 'Date' && node.arguments.length === 0)
          report(node, 'raw', { what: 'new Date()', instead: 'ctx.now()' });
      },
    };
  },
};

/** `Date`, `Date.now`, and the same behind `globalThis`. */
function nameOf(node: Node): string | undefined {
  if (node.type === 'Identifier') return node.name;
  if (node.type !== 'MemberExpression' || node.computed || node.property.type !== 'Identifier') return undefined;
  const object = nameOf(node.object as Node);
  if (object === undefined) return undefined;
  return object === 'globalThis' ? node.property.name : `${object}.${node.property.name}`;
}

/** Whether nothing in the file declares or imports the name that `node` begins with. */
function isOfPlatform(node: Node, sourceCode: SourceCode): boolean {
  if (node.type === 'MemberExpression') return isOfPlatform(node.object as Node, sourceCode);
  const found = sourceCode.getScope(node).references.find(({ identifier }) => identifier === node);
  return (found?.resolved?.defs.length ?? 0) === 0;
}

type SourceCode = Rule.RuleContext['sourceCode'];
type DeclaredVariables = (of: Node) => ReturnType<SourceCode['getDeclaredVariables']>;

/** @param seen functions whose uses were looked at: functions may name each other in a circle */
function isInOrchestration(node: Node, declared: DeclaredVariables, seen = new Set<Node>()): boolean {
  for (let inner: Node = node, outer: Node | null = node.parent; outer; inner = outer, outer = outer.parent) {
    const kind = outer.type === 'CallExpression' && isFunction(inner) ? kindOfArgument(inner, outer) : undefined;
    if (kind !== undefined) return kind === 'orchestration';
    if (seen.has(inner)) return false;
    const uses = usesByName(inner, outer, declared);
    if (uses.length === 0) continue;
    seen.add(inner);
    const kinds = uses.map((use) => kindOfArgument(use, use.parent));
    if (kinds.includes('orchestration')) return true;
    if (uses.some((use, at) => kinds[at] === undefined && isInOrchestration(use, declared, seen))) return true;
    if (kinds.includes('other')) return false;
  }
  return false;
}

/** What a function is, by the call that it is an argument of. */
function kindOfArgument(argument: Node, call: Node | null): ReturnType<typeof definitionOf> {
  if (call?.type !== 'CallExpression' || !call.arguments.includes(argument as never)) return undefined;
  return definitionOf(call.callee as Node);
}

/** Where the name of a function is used, in this file: of `function name` and of `const name = `. */
function usesByName(inner: Node, outer: Node, declared: DeclaredVariables): Node[] {
  const isNamed = outer.type === 'VariableDeclarator' && outer.init === inner && isFunction(inner);
  const declaration = inner.type === 'FunctionDeclaration' ? inner : isNamed ? outer : undefined;
  const id = declaration && 'id' in declaration ? declaration.id : undefined;
  if (!declaration || id?.type !== 'Identifier') return [];
  return declared(declaration)
    .filter(({ name }) => name === id.name)
    .flatMap(({ references }) => references.map(({ identifier }) => identifier as Node));
}

/** Which kind of code a call takes; `undefined` for a call that defines nothing. */
function definitionOf(callee: Node): 'orchestration' | 'other' | undefined {
  if (callee.type === 'Identifier') {
    if (callee.name === 'orchestration') return 'orchestration';
    return callee.name === 'activity' ? 'other' : undefined;
  }
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return undefined;
  const { name } = callee.property;
  if (DROP_IN.test(name) || name === 'orchestration') return 'orchestration';
  if (name === 'implement') return declares(callee.object as Node);
  return name.startsWith('registerActivity') ? 'other' : undefined;
}

/** `declareOrchestration(…).implement(…)`; a declaration behind a name is not looked up. */
function declares(object: Node): 'orchestration' | 'other' | undefined {
  if (object.type !== 'CallExpression') return undefined;
  return nameOf(object.callee as Node) === 'declareOrchestration' ? 'orchestration' : 'other';
}

function isFunction(node: Node): boolean {
  return node.type === 'FunctionExpression' || node.type === 'ArrowFunctionExpression';
}
