import { showStored } from '../../wire/encoded-payload.js';
import type { ProviderAdmin } from '../admin.js';
import type { Coder } from './coder.js';
import { mapEvents } from './codec-records.js';

/** The administration of a store with a codec: it shows values as they were. Previews, which are cut, say by what they were encoded. */
export function codecAdmin(
  admin: ProviderAdmin,
  coder: Coder,
  guarded: <T>(operation: string, read: () => Promise<T>) => Promise<T>,
): ProviderAdmin {
  const output = async <T extends { readonly output: string | null }>(info: T, what: string, instanceId: string) => ({
    ...info,
    output: info.output === null ? null : await coder.decodeText(info.output, { what, instanceId }),
  });
  const overrides: Partial<ProviderAdmin> = {
    readHistory: (instance) =>
      guarded('read_history', async () => [
        ...(await coder.decode(await admin.readHistory(instance), mapEvents, instance)),
      ]),
    readHistoryWithExecutionId: (instance, executionId) =>
      guarded('read_history', async () => [
        ...(await coder.decode(await admin.readHistoryWithExecutionId(instance, executionId), mapEvents, instance)),
      ]),
    getInstanceInfo: (instance) =>
      guarded('get_instance_info', async () => {
        const info = await admin.getInstanceInfo(instance);
        return output(info, `the output of orchestration '${info.orchestrationName}'`, instance);
      }),
    getExecutionInfo: (instance, executionId) =>
      guarded('get_execution_info', async () =>
        output(await admin.getExecutionInfo(instance, executionId), `the output of execution ${executionId}`, instance),
      ),
    async listInstancesPage(query) {
      const page = await admin.listInstancesPage(query);
      return {
        ...page,
        instances: page.instances.map((each) => ({
          ...each,
          outputPreview: each.outputPreview === null ? null : showStored(each.outputPreview),
          customStatus: each.customStatus === null ? null : showStored(each.customStatus),
        })),
      };
    },
  };
  return new Proxy(admin, {
    get(target, property) {
      const own = (overrides as Partial<Record<PropertyKey, unknown>>)[property];
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
    },
  });
}
