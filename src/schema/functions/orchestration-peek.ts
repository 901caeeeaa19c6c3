/** Sizes of the windows of the looks that follow each other; they are constants in the text (provider.md 3.4.3). */
export const PEEK_WINDOWS = [4, 40, 500] as const;

/**
 * The look number `v_stage` at the queue, without locks: ready instances, oldest first,
 * into `v_candidates`. Each branch takes its window off its own index before anything
 * is joined, or the join would read the whole backlog. `v_seen` is how many rows the
 * windows held: fewer than a window means that there are no more. The last look reads
 * everything: for a head of the queue that is locked or of foreign versions.
 */
export const peek = (s: string, hasFilter: boolean) => `
        ${PEEK_WINDOWS.map((size, index) => `if v_stage = ${index + 1} then${peekWindow(s, hasFilter, size)}`).join(`
        els`)}
        else${peekEverything(s, hasFilter)}
        end if;`;

const peekWindow = (s: string, hasFilter: boolean, size: number) => `
          select array_agg(c.instance_id order by c.visible_at, c.id) filter (where ${isReady(hasFilter)}), count(*)
            into v_candidates, v_seen
            from (${branches(s, size)}) c${joinLocks(s)}${hasFilter ? joinVersions(s, 'c') : ''};`;

/** Filters before it limits, which a window must not. */
const peekEverything = (s: string, hasFilter: boolean) => `
          select array_agg(r.instance_id order by r.visible_at, r.id), 0
            into v_candidates, v_seen
            from (
              select c.instance_id, c.visible_at, c.id
                from (${branches(s, undefined)}) c${joinLocks(s)}${hasFilter ? joinVersions(s, 'c') : ''}
                where ${isReady(hasFilter)}
                order by c.visible_at, c.id
                limit 50
            ) r;`;

/** Rows that nobody has locked, and rows whose lock expired, each off its own index. */
const branches = (s: string, size: number | undefined) => {
  const first = (order: string) => (size === undefined ? '' : `order by ${order} limit ${size}`);
  return `
              (select q.id, q.instance_id, q.visible_at
                 from ${s}.orchestrator_queue q
                 where q.lock_token is null and q.visible_at <= v_now and q.instance_id <> all (v_lost)
                 ${first('q.visible_at, q.id')})
              union all
              (select q.id, q.instance_id, q.visible_at
                 from ${s}.orchestrator_queue q
                 where q.lock_token is not null and q.locked_until <= p_now_ms and q.visible_at <= v_now
                   and q.instance_id <> all (v_lost)
                 ${first('q.locked_until')})`;
};

/** By id alone: the time of the lock belongs into the condition, or the planner compares every pair. */
const joinLocks = (s: string) => `
            left join ${s}.instance_locks l on l.instance_id = c.instance_id`;

/** The current execution `e` of a row's instance. */
export const joinVersions = (s: string, row: string) => `
            left join ${s}.instances i on i.instance_id = ${row}.instance_id
            left join ${s}.executions e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id`;

/** Whether the execution's version, if it has one, is one that the caller may run. */
export const isOfVersion = `(e.duroxide_version_major is null
              or e.duroxide_version_major::bigint * 1000000 + e.duroxide_version_minor::bigint * 1000
                 + e.duroxide_version_patch between p_min_version_packed and p_max_version_packed)`;

const isReady = (hasFilter: boolean) =>
  `(l.instance_id is null or l.locked_until <= p_now_ms)${hasFilter ? ` and ${isOfVersion}` : ''}`;
