import type { Rule } from 'eslint';

type Node = Rule.Node;

/** What the context offers in place of the raw call. */
const COUNTERPARTS: Readonly<Record<string, string>> = {
  'Date.now': 'ctx.now()',
  'performance.now': 'ctx.now()',
  'Math.random': 'ctx.random()',
  'crypto.randomUUID': 'ctx.newGuid()',
  'crypto.getRandomValues': 'ctx.random()',
};
const TIMERS = new Set(['setTimeout', 'setInterval', 'setImmediate']);
const DROP_IN = /^registerOrchestration(Versioned)?(Typed)?$/;

/**
 * Reports raw time, chance and timers in the code of orchestrations: what `orchestration(…)`,
 * `declared.implement(…)` and `registerOrchestration…(…)` are given. A replay would get
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
    const report = (node: Node, what: string, instead: string): void => {
      if (isInOrchestration(node)) context.report({ node, messageId: 'raw', data: { what, instead } });
    };
    return {
      CallExpression(node) {
        const name = nameOf(node.callee as Node);
        if (name === undefined) return;
        const instead = COUNTERPARTS[name] ?? (name === 'Date' ? 'ctx.now()' : undefined);
        if (instead !== undefined) report(node, `${name}()`, instead);
        else if (TIMERS.has(name) && isInOrchestration(node)) {
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

function isInOrchestration(node: Node): boolean {
  for (let inner: Node = node, outer: Node | null = node.parent; outer; inner = outer, outer = outer.parent) {
    if (outer.type === 'CallExpression' && isFunction(inner) && outer.arguments.includes(inner as never)) {
      const kind = definitionOf(outer.callee as Node);
      if (kind !== undefined) return kind === 'orchestration';
    }
  }
  return false;
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
