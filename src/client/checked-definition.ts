const MADE_BY = {
  activity: ['activity(…)', 'declareActivity(…)'],
  orchestration: ['orchestration(…)', 'declareOrchestration(…)'],
  event: ['event(…)'],
} as const;

type Kind = keyof typeof MADE_BY;

/**
 * Passes a definition of one of these kinds.
 * @param where the call, for the message
 * @throws TypeError naming what was given and what was expected
 */
export function checkedDefinition<Definition extends { readonly kind: Kind; readonly name: string }>(
  definition: Definition,
  kinds: readonly Kind[],
  where?: string,
): Definition {
  if (isOneOf(definition, kinds)) return definition;
  const makers = listed(kinds.flatMap((kind) => MADE_BY[kind]));
  throw new TypeError(`${prefix(where)}expected what ${makers} returns, got ${shownDefinition(definition)}`);
}

/** The name of an event or mailbox that is given by its definition, or by its name. @throws as {@link checkedDefinition} */
export function eventName(event: { readonly kind: 'event'; readonly name: string } | string, where?: string): string {
  if (typeof event === 'string') return event;
  if (isOneOf(event, ['event'])) return event.name;
  throw new TypeError(`${prefix(where)}expected what event(…) returns, or a name, got ${shownDefinition(event)}`);
}

/** What was given for a definition, in words of a message. */
export function shownDefinition(value: unknown): string {
  // The likeliest cause: nobody hands in `undefined` on purpose.
  if (value === undefined)
    return 'undefined; modules that import each other in a circle see undefined until both are loaded';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  const { kind, name } = value as { readonly kind?: unknown; readonly name?: unknown };
  return typeof kind === 'string' && typeof name === 'string' ? `${kind} '${name}'` : typeof value;
}

function isOneOf(definition: unknown, kinds: readonly Kind[]): boolean {
  const { kind, name } = (definition ?? {}) as { readonly kind?: unknown; readonly name?: unknown };
  return typeof name === 'string' && kinds.some((one) => one === kind);
}

function prefix(where: string | undefined): string {
  return where === undefined ? '' : `${where}: `;
}

function listed(makers: readonly string[]): string {
  return makers.length < 2 ? makers.join('') : `${makers.slice(0, -1).join(', ')} or ${makers.at(-1) ?? ''}`;
}
