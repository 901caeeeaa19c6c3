import type { EmittedAction } from '../replay/action.js';
import { reservedChildIdMessage } from '../replay/instance-ids.js';
import type { Branch, Outcome, Scheduler, StartBranch } from './branches.js';
import { join, race, resolved, single, withRetry } from './branches.js';
import { failureMessage, fromPayload, joinElement, raceValue } from './payload.js';
import { namedBackoff } from './retry.js';
import type { Task } from './scheduled-task.js';
import { getKvValue, NEW_GUID, UTC_NOW } from './system-calls.js';

/** How the generator goes on. */
export type Resume =
  { readonly kind: 'next'; readonly value: unknown } | { readonly kind: 'throw'; readonly message: string };

/** What a yielded task does, with native's refusals (node-api.md 6.2). */
export function branchOf(task: Task, scheduler: Scheduler): StartBranch<Resume> {
  switch (task.type) {
    case 'join':
      return joinOf(task.tasks, scheduler);
    case 'select':
      return raceOf(task.tasks, scheduler);
    case 'orchestration':
    case 'orchestrationVersioned': {
      const { name, version = null, instanceId: instance, input } = task;
      return (done) => {
        scheduler.decide({ kind: 'startDetached', name, version, instance, input });
        done({ kind: 'next', value: null });
        return NOTHING;
      };
    }
    case 'continueAsNew':
    case 'continueAsNewVersioned': {
      const { input, version = null } = task;
      return () => {
        scheduler.decide({ kind: 'continueAsNew', input, version });
        return NOTHING; // it never has a result
      };
    }
    case 'newGuid':
      return mapped(single(scheduler, NEW_GUID), resumeWith);
    case 'utcNow':
      return mapped(single(scheduler, UTC_NOW), resumeWith);
    default:
      return mapped(leafOf(task, scheduler), resumeWith);
  }
}

const NOTHING: Branch = { drop: () => undefined };

function joinOf(tasks: readonly Task[], scheduler: Scheduler): StartBranch<Resume> {
  if (tasks.some(isComposite)) return misuse('nested join/select inside join is not supported');
  const branches = tasks.map((task) => {
    return isLeaf(task) ? leafOf(task, scheduler) : resolved({ ok: false, text: 'unsupported task in join' });
  });
  return mapped(join(branches), (outcomes) => ({ kind: 'next', value: outcomes.map(joinElement) }));
}

function raceOf(tasks: readonly Task[], scheduler: Scheduler): StartBranch<Resume> {
  if (tasks.length !== 2) return misuse('select currently supports exactly 2 tasks');
  if (tasks.some(isComposite)) return misuse('nested join/select inside select is not supported');
  const branches = tasks.map((task) => {
    return isLeaf(task) ? leafOf(task, scheduler) : resolved({ ok: true, text: 'unsupported task in select' });
  });
  return mapped(race(branches), ({ index, value }) => {
    return { kind: 'next', value: { index, value: raceValue(value.text) } };
  });
}

function leafOf(task: LeafTask, scheduler: Scheduler): StartBranch<Outcome> {
  switch (task.type) {
    case 'activity': {
      const { name, input, sessionId, tag } = task;
      return single(scheduler, { kind: 'scheduleActivity', name, input, sessionId, tag });
    }
    case 'activityWithRetry': {
      const { name, input, sessionId, retry } = task;
      const { maxAttempts, timeoutMs } = retry;
      return withRetry(
        scheduler,
        { kind: 'scheduleActivity', name, input, sessionId },
        { maxAttempts, timeoutMs, backoff: namedBackoff(retry.backoff) },
      );
    }
    case 'timer':
      return single(scheduler, { kind: 'createTimer', delayMs: task.delayMs });
    case 'waitEvent':
      return single(scheduler, { kind: 'waitExternal', name: task.name });
    case 'dequeueEvent':
      return single(scheduler, { kind: 'dequeueEvent', name: task.queueName });
    case 'getValueFromInstance':
      return single(scheduler, getKvValue(task.instanceId, task.key));
    default: {
      const { name, input, version = null, instanceId: instance = null } = task;
      const refusal = instance === null ? undefined : reservedChildIdMessage(instance);
      if (refusal !== undefined) return resolved({ ok: false, text: refusal });
      const action: EmittedAction = { kind: 'startSubOrchestration', name, input, version, instance };
      return single(scheduler, action);
    }
  }
}

/** Tasks that may stand inside a join or race. */
type LeafTask = Exclude<
  Task,
  {
    type:
      | 'join'
      | 'select'
      | 'orchestration'
      | 'orchestrationVersioned'
      | 'continueAsNew'
      | 'continueAsNewVersioned'
      | 'newGuid'
      | 'utcNow';
  }
>;

function isLeaf(task: Task): task is LeafTask {
  switch (task.type) {
    case 'join':
    case 'select':
    case 'orchestration':
    case 'orchestrationVersioned':
    case 'continueAsNew':
    case 'continueAsNewVersioned':
    case 'newGuid':
    case 'utcNow':
      return false;
    default:
      return true;
  }
}

function isComposite(task: Task): boolean {
  return task.type === 'join' || task.type === 'select';
}

function misuse(message: string): StartBranch<Resume> {
  return resolved({ kind: 'throw', message });
}

function mapped<A, B>(start: StartBranch<A>, map: (result: A) => B): StartBranch<B> {
  return (done): Branch => start((result) => done(map(result)));
}

function resumeWith({ ok, text }: Outcome): Resume {
  return ok ? { kind: 'next', value: fromPayload(text) } : { kind: 'throw', message: failureMessage(text) };
}
