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
const DROP_IN = /^registerOrchestration(Versioned)?(Typed)?$/;

/**
 * Reports raw time, chance and timers in the code of orchestrations: what `orchestration(…)`,
 * `declared.implement(…)` and `registerOrchestration…(…)` are given, as it stands there or by
 * the name of a function of the same file. A replay would get
 * other values than the run before it.
 */
export const noRawNondeterminism: Rule.RuleModule = {
  meta: {
    type: 'problem',
    docs: { description: 'disallow time, chance and timers that a replay cannot repeat in orchestrations' },
    messages: {
      raw: '{{what}} gives another value on each replay of the orchestration; use {{instead}}.',
      timer: '{{what}} is not durable: its orchestration would be put off; use ctx.sleep(ms).',
    },
    schema: [],
  },
  create(context) {
    const { sourceCode } = context;
    const variables = { getDeclaredVariables: (of: Node) => sourceCode.getDeclaredVariables(of) };
    const report = (node: Node, what: string, instead: string): void => {
      if (isInOrchestration(node, variables)) context.report({ node, messageId: 'raw', data: { what, instead } });
    };
    return {
      CallExpression(node) {
        const name = nameOf(node.callee as Node);
        if (name === undefined) return;
        const instead = COUNTERPARTS[name] ?? (name === 'Date' ? 'ctx.now()' : undefined);
        if (instead !== undefined) report(node, `${name}()`, instead);
        else if (TIMERS.has(name) && isInOrchestration(node, variables)) {
          context.report({ node, messageId: 'timer', data: { what: `${name}()` } });
        }
      },
      NewExpression(node) {
        if (nameOf(node.callee as Node) === 'Date' && node.arguments.length === 0)
          report(node, 'new Date()', 'ctx.now()');
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

function isInOrchestration(node: Node, { getDeclaredVariables }: DeclaredVariables): boolean {
  for (let inner: Node = node, outer: Node | null = node.parent; outer; inner = outer, outer = outer.parent) {
    const kinds =
      outer.type === 'CallExpression' && isFunction(inner)
        ? [kindOfArgument(inner, outer)]
        : usesByName(inner, outer, getDeclaredVariables).map((name) => kindOfArgument(name, name.parent));
    if (kinds.includes('orchestration')) return true;
    if (kinds.includes('other')) return false;
  }
  return false;
}

type DeclaredVariables = Pick<Rule.RuleContext['sourceCode'], 'getDeclaredVariables'>;

/** What a function is, by the call that it is an argument of. */
function kindOfArgument(argument: Node, call: Node | null): ReturnType<typeof definitionOf> {
  if (call?.type !== 'CallExpression' || !call.arguments.includes(argument as never)) return undefined;
  return definitionOf(call.callee as Node);
}

/** Where the name of a function is used, in this file: of `function name` and of `const name = `. */
function usesByName(inner: Node, outer: Node, declared: DeclaredVariables['getDeclaredVariables']): Node[] {
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
