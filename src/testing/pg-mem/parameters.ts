import { PgMemError } from './pg-mem-error.js';

/** What a caller may hand to a query; drivers take more than our own statements use: see {@link constant}. */
export type Parameter = unknown;

/**
 * The parameters of a statement that is being rewritten. Arrays are spread, each of
 * their elements becoming a parameter of its own.
 */
export class Parameters {
  private readonly bound: Parameter[] = [];

  constructor(private readonly given: readonly Parameter[]) {}

  /** The values, in the order of the new numbers. */
  get values(): readonly Parameter[] {
    return this.bound;
  }

  /** The value that `$n` of the original text has. */
  valueOf(name: string): Parameter {
    const index = Number(name.slice(1)) - 1;
    if (index >= this.given.length) throw new PgMemError('42P02', `there is no parameter ${name}`);
    return this.given[index];
  }

  /** SQL text for the parameter `$n` of the original text. */
  scalar(name: string): string {
    const value = this.valueOf(name);
    if (!Array.isArray(value)) return this.add(value);
    return value.length === 0 ? `'{}'` : `ARRAY[${value.map((element) => this.add(element)).join(', ')}]`;
  }

  /** SQL text for each element of the array that `$n` of the original text is. */
  elements(name: string): string[] {
    const value = this.valueOf(name);
    if (!Array.isArray(value)) throw new PgMemError('22P02', `an array is expected as parameter ${name}`);
    return value.map((element) => this.add(element));
  }

  /** SQL text for one more parameter. */
  add(value: Parameter): string {
    return `$${this.bound.push(value)}`;
  }
}

/** A constant of a syntax tree. */
export type Constant =
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'integer' | 'numeric'; readonly value: number }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'null' };

/** A syntax tree with the values in the place of its parameters: pg-mem infers poor types for real ones. */
export function bind<Tree>(tree: Tree, values: readonly Parameter[]): Tree {
  const constants = values.map(constant);
  const map = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(map);
    if (typeof node !== 'object' || node === null) return node;
    const { type, name } = node as { type?: unknown; name?: unknown };
    if (type === 'parameter' && typeof name === 'string') return constants[Number(name.slice(1)) - 1];
    return Object.fromEntries(Object.entries(node).map(([key, child]) => [key, map(child)]));
  };
  return map(tree) as Tree;
}

/**
 * A parameter as node-postgres would send it: a `Date` is a moment, an object JSON.
 * @throws PgMemError 22021 for U+0000, which PostgreSQL cannot store and pg-mem would.
 */
function constant(value: Parameter): Constant {
  if (value === null || value === undefined) return { type: 'null' };
  switch (typeof value) {
    case 'string':
      return text(value);
    case 'number':
      if (Number.isInteger(value)) return { type: 'integer', value };
      return Number.isFinite(value) ? { type: 'numeric', value } : text(String(value));
    case 'bigint':
      return { type: 'integer', value: Number(value) };
    case 'boolean':
      return { type: 'boolean', value };
    default:
  }
  if (value instanceof Date) return text(value.toISOString());
  if (value instanceof Uint8Array) return text(`\\x${Buffer.from(value).toString('hex')}`);
  return text(JSON.stringify(value));
}

function text(value: string): Constant {
  if (value.includes('\u0000')) throw new PgMemError('22021', 'invalid byte sequence for encoding "UTF8": 0x00');
  // As any driver does when it encodes: an unpaired surrogate becomes U+FFFD.
  return { type: 'string', value: value.toWellFormed() };
}
