import type { InstanceInfo } from '../../provider/admin.js';
import type { InstancePage, InstanceSummary } from '../../provider/instance-pages.js';
import { showStored } from '../../wire/encoded-payload.js';
import type { InstancePageView, InstanceRow } from '../views.js';
import { payloadView } from './payload-view.js';

export function rowOfSummary(summary: InstanceSummary): InstanceRow {
  return {
    id: summary.instanceId,
    name: summary.orchestrationName,
    version: summary.orchestrationVersion,
    status: summary.status,
    executionId: summary.currentExecutionId,
    createdAtMs: summary.createdAtMs,
    updatedAtMs: summary.updatedAtMs,
    completedAtMs: summary.completedAtMs,
    parent: summary.parentInstanceId,
    customStatus: shown(summary.customStatus),
    preview: shown(summary.outputPreview),
  };
}

export function pageView({ instances, next }: InstancePage): InstancePageView {
  return { rows: instances.map(rowOfSummary), next };
}

export function rowOfInfo(info: InstanceInfo, customStatus: string | null): InstanceRow {
  const hasEnded = info.status === 'Completed' || info.status === 'Failed';
  return {
    id: info.instanceId,
    name: info.orchestrationName,
    version: info.orchestrationVersion,
    status: info.status,
    executionId: info.currentExecutionId,
    createdAtMs: info.createdAtMs,
    updatedAtMs: info.updatedAtMs,
    completedAtMs: hasEnded ? info.updatedAtMs : null,
    parent: info.parentInstanceId,
    customStatus: shown(customStatus),
    preview: info.output === null ? null : payloadView('output', info.output).text,
  };
}

function shown(text: string | null): string | null {
  return text === null ? null : showStored(text);
}
