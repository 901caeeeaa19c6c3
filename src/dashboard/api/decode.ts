import { isStorable } from '../../base/text.js';
import { badRequest, Problem } from './problem.js';

/** @throws Problem for what no id, name or key of the store can hold: the database would refuse it with an error. */
function checkText(what: string, text: string): void {
  if (!isStorable(text)) throw badRequest(`${what} must not contain NUL (U+0000) or unpaired surrogates.`);
}

/** Reads the query of a request; every parameter is named, so that a typing error is no silent absence. */
export class QueryReader {
  private readonly params: URLSearchParams;

  /** @throws Problem for a parameter that is not in `known`, or given twice, or that the store cannot hold */
  constructor(url: string, known: readonly string[]) {
    this.params = new URL(url).searchParams;
    for (const name of new Set(this.params.keys())) {
      if (!known.includes(name)) {
        throw badRequest(`Unknown parameter '${name}'; expected: ${known.join(', ')}.`);
      }
      if (this.params.getAll(name).length > 1) throw badRequest(`Parameter '${name}' is given more than once.`);
      checkText(`Parameter '${name}'`, this.params.get(name) ?? '');
    }
  }

  /** Absent and empty are the same. */
  text(name: string): string | undefined {
    return this.params.get(name) || undefined;
  }

  required(name: string): string {
    const value = this.params.get(name);
    if (!value) throw badRequest(`Parameter '${name}' is missing.`);
    return value;
  }

  integer(name: string, { min, max }: { readonly min: number; readonly max: number }): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = /^\d+$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max)) {
      throw badRequest(`Parameter '${name}' must be a whole number from ${min} to ${max}, got '${text}'.`);
    }
    return value;
  }

  oneOf<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const choice = choices.find((value) => value === text);
    if (choice === undefined) {
      throw badRequest(`Parameter '${name}' must be one of ${choices.join(', ')}, got '${text}'.`);
    }
    return choice;
  }
}

/** Reads the JSON object of a request's body. */
export class BodyReader {
  private constructor(private readonly fields: Readonly<Record<string, unknown>>) {}

  /** @throws Problem when it is no JSON object, or has a field that is not in `known` or that the store cannot hold */
  static async of(request: { text(): Promise<string> }, known: readonly string[]): Promise<BodyReader> {
    let value: unknown;
    try {
      value = JSON.parse(await request.text());
    } catch (error) {
      if (error instanceof SyntaxError) throw badRequest('The body is not JSON.');
      throw error;
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw badRequest('The body must be a JSON object.');
    }
    const stranger = Object.keys(value).find((name) => !known.includes(name));
    if (stranger !== undefined) throw badRequest(`Unknown field '${stranger}'; expected: ${known.join(', ')}.`);
    for (const [name, field] of Object.entries(value)) {
      if (typeof field === 'string') checkText(`Field '${name}'`, field);
    }
    return new BodyReader(value as Record<string, unknown>);
  }

  text(name: string): string {
    const value = this.fields[name];
    if (typeof value !== 'string' || value === '')
      throw badRequest(`Field '${name}' must be a text that is not empty.`);
    return value;
  }

  optionalText(name: string): string | undefined {
    const value = this.fields[name];
    if (value === undefined) return undefined;
    if (typeof value !== 'string') throw badRequest(`Field '${name}' must be a text.`);
    return value;
  }

  flag(name: string): boolean {
    const value = this.fields[name] ?? false;
    if (typeof value !== 'boolean') throw badRequest(`Field '${name}' must be true or false.`);
    return value;
  }

  integer(name: string): number {
    const value = this.fields[name];
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) {
      throw badRequest(`Field '${name}' must be a whole number from 1.`);
    }
    return value;
  }

  /** Any JSON value, sent as its text, so that what the user typed is what arrives. Absent and empty mean `null`. */
  json(name: string): unknown {
    const text = this.optionalText(name)?.trim() ?? '';
    if (text === '') return null;
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw new Problem(400, 'not_json', `Field '${name}' is not JSON. A text needs its quotes: "like this".`);
    }
  }
}
