import { readEncodedPayload } from '../../wire/encoded-payload.js';
import type { ChangeSchedule, ScheduleDecision, ScheduleStore, StoredSchedule } from '../schedules.js';
import type { Coder } from './coder.js';
import { asProviderError, decodedOr } from './each-encoded.js';

/**
 * Schedules keep the input of their instances encoded. It belongs to the schedule, not to
 * one of the instances, and says so: each start carries the stored text on.
 */
export function codecSchedules(schedules: ScheduleStore, coder: Coder): ScheduleStore {
  const place = (id: string) => ({ what: `the input of schedule '${id}'`, instanceId: id });
  const encode = (input: string, id: string) => coder.encodeText(input, place(id), id);
  const decoded = (stored: StoredSchedule): Promise<StoredSchedule> =>
    decodedOr<StoredSchedule>(
      async () => ({ ...stored, input: await coder.decodeText(stored.input, place(stored.id)) }),
      (error) => ({ ...stored, unreadable: asProviderError('read_schedule', error) }),
    );
  /** Inside of a transaction that must not wait. */
  const encodeNow = (input: string, id: string): string => {
    const encoded = readEncodedPayload(input) ? input : encode(input, id);
    if (typeof encoded === 'string') return encoded;
    encoded.catch(() => undefined);
    throw new TypeError(`the input of schedule '${id}' can only be changed with a codec that encodes at once`);
  };
  const withStarts = <Decision extends ScheduleDecision>(decision: Decision, id: string): Decision => ({
    ...decision,
    starts: decision.starts.map((start) => ({ ...start, input: encodeNow(start.input, id) })),
  });
  return {
    add: async (id, definition, state) =>
      schedules.add(id, { ...definition, input: await encode(definition.input, id) }, state),
    async find(id) {
      const stored = await schedules.find(id);
      return stored && decoded(stored);
    },
    list: async () => Promise.all((await schedules.list()).map(decoded)),
    change(id: string, change: ChangeSchedule) {
      return schedules.change(id, (stored, facts) => {
        const decision = withStarts(change(stored, facts), id);
        const { definition } = decision;
        return definition
          ? { ...decision, definition: { ...definition, input: encodeNow(definition.input, id) } }
          : decision;
      });
    },
    remove: (id) => schedules.remove(id),
    fireDue: (decide) => schedules.fireDue((stored, facts) => withStarts(decide(stored, facts), stored.id)),
    onChanged: (listener) => schedules.onChanged(listener),
  };
}
