import { signal } from '@preact/signals';
import type { SessionView } from '../views';
import { getJson } from './api';
import { heardTime } from './clock';

/** What the viewer may do; `undefined` until the server said so. */
export const session = signal<SessionView | undefined>(undefined);

export async function loadSession(): Promise<void> {
  session.value = await getJson<SessionView>('/api/session');
  heardTime(session.value.nowMs);
}
