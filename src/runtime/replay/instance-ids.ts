/** Marks ids that the runtime derives for children; no root instance may carry it. */
const MARKER = 'sub::';

/** The id that the parent's history holds for a child without an explicit one. */
export function derivedChildId(executionId: number, eventId: number): string {
  // Without the execution number, execution 2 would meet the children of execution 1.
  return executionId === 1 ? `${MARKER}${eventId}` : `${MARKER}${executionId}_${eventId}`;
}

/** Whether an id of a parent's history is a derived one, relative to the parent. */
export function isDerivedChildId(instance: string): boolean {
  return instance.startsWith(MARKER);
}

/** The id under which a child runs, from the one in its parent's history. */
export function fullChildId(parent: string, instance: string): string {
  return isDerivedChildId(instance) ? `${parent}::${instance}` : instance;
}

/** Whether an id may not name a root instance: it starts with the marker or holds it after `::`. */
export function isReservedInstanceId(instance: string): boolean {
  return instance.startsWith(MARKER) || instance.includes(`::${MARKER}`);
}

/** What a turn panics with that starts a detached instance under a reserved id (runtime.md 3.7). */
export function reservedDetachedIdMessage(instance: string): string {
  return (
    `detached orchestration instance id '${instance}' uses the reserved sub-orchestration marker 'sub::'; ` +
    `root instance ids must not start with it or contain '::sub::'`
  );
}

/** What is thrown into the code that gives a child a reserved id; `undefined` for a good one. */
export function reservedChildIdMessage(instance: string): string | undefined {
  if (!isDerivedChildId(instance)) return undefined;
  return (
    `sub-orchestration instance id '${instance}' starts with the reserved marker 'sub::', which the runtime ` +
    `uses to mark auto-generated child ids; use an id that does not begin with it`
  );
}
