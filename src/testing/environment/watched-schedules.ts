import type { Ms } from '../../provider/provider.js';
import type { ScheduleStore } from '../../provider/schedules.js';

/** Longer than the pause after a look at a schedule that is in other hands, in ms of the virtual clock. */
const BUSY_PAUSE_MS: Ms = 300;

export interface ScheduleWatch {
  readonly nowMs: () => Ms;
  /** A call of the store, which is counted. */
  readonly call: <T>(method: string, run: () => Promise<T>) => Promise<T>;
  /** The next moment at which a schedule fires, as far as the last look knows; `Infinity`: none does. */
  readonly fires: (atMs: Ms) => void;
}

/** The store of schedules as a process of the environment sees it: the virtual clock has to stop where one fires. */
export function watchedSchedules(store: ScheduleStore, { nowMs, call, fires }: ScheduleWatch): ScheduleStore {
  return {
    add: (id, definition, state) => call('addSchedule', () => store.add(id, definition, state)),
    find: (id) => call('findSchedule', () => store.find(id)),
    list: () => call('listSchedules', () => store.list()),
    change: (id, change) => call('changeSchedule', () => store.change(id, change)),
    remove: (id) => call('removeSchedule', () => store.remove(id)),
    fireDue: async (decide) => {
      const fired = await call('fireDueSchedules', () => store.fireDue(decide));
      const { nextFireMs } = fired;
      fires(nextFireMs !== null && nextFireMs <= nowMs() ? nowMs() + BUSY_PAUSE_MS : (nextFireMs ?? Infinity));
      return fired;
    },
    onChanged: (listener) => store.onChanged(listener),
  };
}
