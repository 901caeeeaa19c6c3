/** What the ids of children without a name of their own begin with in their parent's history. */
const RELATIVE = 'sub::';

/** The id under which a child runs: its parent's history may hold it relative to the parent. */
export function childId({ instanceId, instance }: { readonly instanceId: string; readonly instance: string }): string {
  return instance.startsWith(RELATIVE) ? `${instanceId}::${instance}` : instance;
}
