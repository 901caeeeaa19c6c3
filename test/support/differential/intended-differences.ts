/**
 * Where ours differs from native on purpose (provider.md 5.4), and what the differential
 * test does about it. Nothing else may differ.
 *
 * - `reconciled`: the sequence runs into it, and {@link Reconciler} gives native's side
 *   the state that ours has by intention;
 * - `normalized`: both forms are brought to one before they are compared;
 * - `kept out`: the sequences avoid it, another test shows it;
 * - `unreachable`: one caller on healthy storage cannot meet it.
 */
export const intendedDifferences = {
  'serialization failure 40001': { handling: 'unreachable', why: 'needs concurrent transactions' },
  'retries inside the provider': { handling: 'unreachable', why: 'needs concurrent transactions' },
  'token check on acknowledge': { handling: 'unreachable', why: 'needs two acknowledgements at once (P:XR-5)' },
  'unreadable history text': { handling: 'kept out', why: 'all texts are well formed (P:XR-2)' },
  'unreadable message': { handling: 'kept out', why: 'all texts are well formed (P:XR-14)' },
  'lock renewal unit': { handling: 'kept out', why: 'all extensions are whole seconds (P:XR-8)' },
  'orphan mailbox batch': {
    handling: 'reconciled',
    why: 'native answers with nothing and is asked again; its ghost execution is removed',
  },
  'lost candidate': { handling: 'unreachable', why: 'needs concurrent fetchers (P:XR-7, P:XR-10)' },
  'append for tests': { handling: 'kept out', why: 'always fails natively (P:T-11)' },
  'completed-before on continued-as-new': {
    handling: 'reconciled',
    why: 'while native prunes by time, its continued executions have the completion time that ours assumes',
  },
  'bulk delete of continued-as-new': {
    handling: 'kept out',
    why: 'deletions without force list no instance that continued as new, bulk deletions no running descendants',
  },
  statistics: { handling: 'normalized', why: 'the same formula: equal' },
  'layout of items enqueued by an acknowledgement': { handling: 'normalized', why: 'compared as parsed JSON' },
  'orchestrator_queue.created_at on client enqueue': { handling: 'normalized', why: 'left out' },
  'selection order of bulk operations': { handling: 'kept out', why: 'no limit below the number of candidates' },
  'lost session claim': { handling: 'unreachable', why: 'needs concurrent fetchers' },
  'queued children of a deleted parent': {
    handling: 'reconciled',
    why: 'the starts that native leaves in the queue are removed and counted; instances without a message are passed over',
  },
  'execution row without instance, name, status and events': {
    handling: 'reconciled',
    why: 'the ghost execution that native makes is removed',
  },
  'lock tokens': { handling: 'normalized', why: 'paired when they are handed out' },
  'queue ids': { handling: 'normalized', why: 'replaced by their rank' },
  'worker order beyond 10 × limit eligible rows': { handling: 'kept out', why: 'fewer than ten worker rows' },
  'choice among instances whose lock has ended': {
    handling: 'kept out',
    why: 'by the end of the lock, not by (visible_at, id): with such messages in the queue everything is fetched',
  },
  'schema names with upper case': { handling: 'unreachable', why: 'both schemas have plain names' },
  'long keys': { handling: 'kept out', why: 'all keys are short' },
} as const satisfies Record<
  string,
  { readonly handling: 'reconciled' | 'normalized' | 'kept out' | 'unreachable'; readonly why: string }
>;
