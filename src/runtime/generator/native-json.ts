/**
 * What native's JSON library makes of a JSON text that passes through it, as every value
 * inside `all` and `race` does (node-api.md 6.2). The changed values become inputs of
 * later work, which is compared on replay, so ours must change them in the same way:
 * keys are sorted by UTF-8 bytes, and numbers with a fraction or an exponent are read
 * less exactly than JavaScript does.
 */

/** Arrays and objects within each other, beyond which native refuses a text. */
const MAX_DEPTH = 127;

const U64_MAX = 2n ** 64n - 1n;

/** Whole numbers that a double holds, plain strings and the words: most of what activities answer. */
const UNCHANGED = /^(?:0|-?[1-9]\d{0,14}|"[ !#-[\]-~]*"|true|false|null)$/;

class Refused extends Error {}

/** Whether a text passes as it is, however often; `false` says nothing. Spares joins of thousands the reading. */
export function passesUnchanged(text: string): boolean {
  return UNCHANGED.test(text);
}

/**
 * The text after one passage, or `undefined` when native does not take it for JSON:
 * unpaired surrogate escapes, too much nesting, numbers beyond the doubles.
 */
export function throughNative(text: string): string | undefined {
  return passesUnchanged(text) ? text : readAndWrite(text);
}

/** @internal {@link throughNative} without its short cut. */
export function readAndWrite(text: string): string | undefined {
  const reader = new Reader(text);
  try {
    const written = reader.value(0);
    reader.end();
    return written;
  } catch (error) {
    if (error instanceof Refused) return undefined;
    throw error;
  }
}

/** `throughNative`, with the text itself as a JSON string where native does not take it for JSON. */
export function embedded(text: string): string {
  return throughNative(text) ?? JSON.stringify(text.toWellFormed());
}

/** Reads JSON text and writes it as native would print what it has read. */
class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  value(depth: number): string {
    this.skipSpace();
    const first = this.text[this.at];
    if (first === '{') return this.object(depth + 1);
    if (first === '[') return this.array(depth + 1);
    if (first === '"') return JSON.stringify(this.string());
    if (first === '-' || (first !== undefined && isDigit(first))) return this.number();
    for (const word of ['true', 'false', 'null']) {
      if (!this.text.startsWith(word, this.at)) continue;
      this.at += word.length;
      return word;
    }
    throw new Refused();
  }

  end(): void {
    this.skipSpace();
    if (this.at < this.text.length) throw new Refused();
  }

  private array(depth: number): string {
    if (depth > MAX_DEPTH) throw new Refused();
    const items: string[] = [];
    this.at++;
    this.skipSpace();
    if (this.take(']')) return '[]';
    do items.push(this.value(depth));
    while (this.takeAfterSpace(','));
    this.expect(']');
    return `[${items.join(',')}]`;
  }

  private object(depth: number): string {
    if (depth > MAX_DEPTH) throw new Refused();
    const entries = new Map<string, string>();
    this.at++;
    this.skipSpace();
    if (this.take('}')) return '{}';
    do {
      this.skipSpace();
      if (this.text[this.at] !== '"') throw new Refused();
      const key = this.string();
      this.expect(':');
      entries.set(key, this.value(depth));
    } while (this.takeAfterSpace(','));
    this.expect('}');
    const sorted = [...entries].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    return `{${sorted.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
  }

  private string(): string {
    const start = this.at;
    for (this.at++; this.text[this.at] !== '"'; this.at++) {
      if (this.at >= this.text.length) throw new Refused();
      if (this.text[this.at] === '\\') this.at++;
    }
    this.at++;
    const parsed = parseString(this.text.slice(start, this.at));
    if (parsed === undefined || !parsed.isWellFormed()) throw new Refused();
    return parsed;
  }

  private number(): string {
    const match = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
    match.lastIndex = this.at;
    const found = match.exec(this.text);
    if (!found) throw new Refused();
    this.at = match.lastIndex;
    return passNumber(found[0]);
  }

  private skipSpace(): void {
    while (' \t\n\r'.includes(this.text[this.at] ?? 'x')) this.at++;
  }

  private take(character: string): boolean {
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  private takeAfterSpace(character: string): boolean {
    this.skipSpace();
    return this.take(character);
  }

  private expect(character: string): void {
    if (!this.takeAfterSpace(character)) throw new Refused();
  }
}

function isDigit(character: string): boolean {
  return character >= '0' && character <= '9';
}

function parseString(text: string): string | undefined {
  try {
    return JSON.parse(text) as string;
  } catch {
    return undefined; // a raw control character or a bad escape
  }
}

/** A number as native prints it after reading it. */
function passNumber(text: string): string {
  const isNegative = text.startsWith('-');
  const [mantissa = '', exponentText = '0'] = (isNegative ? text.slice(1) : text).toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const isIntegral = !text.includes('.') && !/e/i.test(text);
  if (isIntegral) {
    const value = BigInt(whole);
    if (!isNegative && value <= U64_MAX) return whole;
    if (isNegative && value > 0n && value <= 2n ** 63n) return `-${whole}`;
  }
  const { significand, skipped } = takeSignificand(whole, fraction);
  const double = scaled(significand, parseExponent(exponentText, significand) + skipped);
  return printDouble(isNegative ? -double : double);
}

/**
 * As many leading digits as 64 bits hold. Digits of the whole part beyond them count for
 * the exponent, those of the fraction are ignored.
 */
function takeSignificand(whole: string, fraction: string): { significand: bigint; skipped: number } {
  let significand = 0n;
  let skipped = 0;
  let isFull = false;
  for (const digit of whole) {
    const next = significand * 10n + BigInt(digit);
    isFull ||= next > U64_MAX;
    if (isFull) skipped++;
    else significand = next;
  }
  // Each run of digits fills up for itself: the fraction may still add small ones.
  isFull = false;
  for (const digit of fraction) {
    const next = significand * 10n + BigInt(digit);
    isFull ||= next > U64_MAX;
    if (isFull) break;
    significand = next;
    skipped--;
  }
  return { significand, skipped };
}

function parseExponent(text: string, significand: bigint): number {
  const exponent = Number(text);
  if (Math.abs(exponent) <= 2 ** 31 - 1) return exponent;
  if (significand !== 0n && exponent > 0) throw new Refused();
  return exponent > 0 ? 0 : -(2 ** 31);
}

/** Multiplies or divides once by a power of ten, which is where precision is lost. */
function scaled(significand: bigint, exponent: number): number {
  let value = Number(significand);
  let rest = exponent;
  for (; Math.abs(rest) > 308; rest += 308) {
    if (value === 0) return value;
    if (rest > 0) throw new Refused();
    value /= 1e308;
  }
  value = rest >= 0 ? value * powerOfTen(rest) : value / powerOfTen(-rest);
  if (!Number.isFinite(value)) throw new Refused();
  return value;
}

function powerOfTen(exponent: number): number {
  return Number(`1e${exponent}`);
}

/** Shortest digits, in the layout of native's printer; the layout decides how they are read again. */
function printDouble(value: number): string {
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const sign = value < 0 ? '-' : '';
  const [mantissa = '', exponentText = ''] = Math.abs(value).toExponential().split('e');
  const digits = mantissa.replace('.', '');
  const pointAt = Number(exponentText) + 1;
  if (digits.length <= pointAt && pointAt <= 16) return `${sign}${digits.padEnd(pointAt, '0')}.0`;
  if (pointAt > 0 && pointAt <= 16) return `${sign}${digits.slice(0, pointAt)}.${digits.slice(pointAt)}`;
  if (pointAt > -5 && pointAt <= 0) return `${sign}0.${'0'.repeat(-pointAt)}${digits}`;
  return `${sign}${mantissa}e${pointAt - 1}`;
}
