import type { DecidedTurn } from './our-turn.js';

type Json = Record<string, unknown>;

/**
 * A turn without what may differ between two engines that decide the same: the reading of
 * the clock, the order of what native writes in hash order, and the place of the breadcrumbs
 * of queue waits (runtime.md 3.5), which shifts ids.
 */
export function comparableTurn(turn: DecidedTurn): unknown {
  const events = turn.events.map((text) => JSON.parse(withoutWording(text)) as Json);
  const ordered = [...events.filter((event) => !isMovable(event)), ...events.filter(isMovable).sort(byType)];
  const renumber = new Renumbering(events, ordered);
  return {
    status: turn.status,
    output: turn.output && withoutWording(turn.output),
    events: ordered.map((event) => renumber.event(withoutClock(event))),
    workerItems: turn.workerItems.map((item) => renumber.item(item)),
    orchestratorItems: turn.orchestratorItems.map((item) => renumber.item(withoutFireAt(item))).sort(cancellationsLast),
  };
}

/** Moments inside of mismatch texts, and the parser's words about an unreadable event (node-api.md 16). */
function withoutWording(text: string): string {
  return text
    .replace(/(fire_at_ms|last_updated_at_ms): \d+/g, '$1: 0')
    .replace(/(Failed to deserialize history:)[^"]*/g, '$1');
}

/** Queue breadcrumbs stand elsewhere in ours; those at the end of an execution are in hash order in native. */
function isMovable(event: Json): boolean {
  const type = event['type'];
  return (
    (type === 'ExternalSubscribedPersistentCancelled' && event['reason'] === 'dropped_future') ||
    type === 'ActivityCancelRequested' ||
    type === 'SubOrchestrationCancelRequested'
  );
}

function byType(a: Json, b: Json): number {
  const key = ({ type, source_event_id }: Json) => `${String(type)} ${String(source_event_id).padStart(9)}`;
  return key(a).localeCompare(key(b));
}

function cancellationsLast(a: unknown, b: unknown): number {
  const text = (item: unknown) => JSON.stringify(item);
  const isCancellation = (item: unknown) => text(item).startsWith('{"CancelInstance"');
  if (!isCancellation(a) || !isCancellation(b)) return Number(isCancellation(a)) - Number(isCancellation(b));
  return text(a) < text(b) ? -1 : 1;
}

function withoutClock(event: Json): Json {
  const timeless: Json = { ...event, timestamp_ms: 0 };
  if (event['type'] === 'TimerCreated') timeless['fire_at_ms'] = 0;
  if (event['type'] === 'KeyValueSet') timeless['last_updated_at_ms'] = 0;
  return timeless;
}

function withoutFireAt(item: unknown): unknown {
  const { TimerFired: timer, ...other } = item as { TimerFired?: Json };
  return timer ? { TimerFired: { ...timer, fire_at_ms: 0 } } : other;
}

/** Ids of the new events by their place in the comparable order. */
class Renumbering {
  readonly #ids = new Map<unknown, number>();

  constructor(events: readonly Json[], ordered: readonly Json[]) {
    const sorted = events.map((event) => Number(event['event_id'])).sort((a, b) => a - b);
    ordered.forEach((event, place) => this.#ids.set(event['event_id'], sorted[place] ?? 0));
  }

  event(event: Json): Json {
    return {
      ...event,
      event_id: this.#of(event['event_id']),
      source_event_id: this.#of(event['source_event_id']),
      ...(event['type'] === 'SubOrchestrationScheduled' && { instance: this.#child(event['instance']) }),
    };
  }

  item(item: unknown): unknown {
    const [kind = '', body = {}] = Object.entries(item as Record<string, Json>)[0] ?? [];
    switch (kind) {
      case 'ActivityExecute':
      case 'TimerFired':
        return { [kind]: { ...body, id: this.#of(body['id']) } };
      case 'StartOrchestration':
        return typeof body['parent_id'] === 'number'
          ? { [kind]: { ...body, parent_id: this.#of(body['parent_id']), instance: this.#child(body['instance']) } }
          : item;
      default:
        return item;
    }
  }

  #of(id: unknown): unknown {
    return this.#ids.get(id) ?? id;
  }

  /** Derived ids of children end with the id of their event. */
  #child(instance: unknown): string {
    return String(instance).replace(/((?:^|::)sub::(?:\d+_)?)(\d+)$/, (_, head: string, id: string) => {
      return `${head}${String(this.#of(Number(id)))}`;
    });
  }
}
