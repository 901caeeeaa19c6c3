/**
 * The part of the Standard Schema interface (version 1) that we call. zod, valibot and
 * arktype schemas satisfy it as they are, so none of them is a dependency.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Where a checked value stands: at the border that names the definition. */
export interface SchemaPlace {
  /** Such as `activity 'charge'`. */
  readonly definition: string;
  readonly part: 'input' | 'output' | 'data';
}

/**
 * A value was refused by the schema of its definition. The message names the path and
 * what the schema says of it; the value itself is not part of it.
 */
export class SchemaValidationError extends Error {
  override readonly name = 'SchemaValidationError';

  constructor(
    readonly place: SchemaPlace,
    readonly issues: readonly { readonly path: string; readonly message: string }[],
  ) {
    const lines = issues.map(({ path, message }) => `${path === '' ? '(the value)' : path}: ${message}`);
    super(`the ${place.part} of ${place.definition} does not fit its schema: ${lines.join('; ')}`);
  }
}

/** The value as the schema gives it back. @throws SchemaValidationError */
export async function checkAgainst<T>(
  schema: StandardSchema<unknown, T> | undefined,
  value: unknown,
  place: SchemaPlace,
): Promise<T> {
  if (!schema) return value as T;
  return settled(await schema['~standard'].validate(value), place);
}

/**
 * As {@link checkAgainst}, where nothing may be awaited: inside an orchestration.
 * @throws SchemaValidationError; TypeError for a schema that validates asynchronously
 */
export function checkAgainstNow<T>(
  schema: StandardSchema<unknown, T> | undefined,
  value: unknown,
  place: SchemaPlace,
): T {
  if (!schema) return value as T;
  const result = schema['~standard'].validate(value);
  if (result instanceof Promise) {
    result.catch(() => {});
    throw new TypeError(
      `the schema for the ${place.part} of ${place.definition} is asynchronous; use a synchronous one`,
    );
  }
  return settled(result, place);
}

function settled<T>(result: SchemaResult<T>, place: SchemaPlace): T {
  if (!result.issues) return result.value;
  throw new SchemaValidationError(
    place,
    result.issues.map(({ message, path = [] }) => ({ message, path: path.map(keyText).join('.') })),
  );
}

function keyText(segment: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof segment === 'object' ? segment.key : segment);
}
