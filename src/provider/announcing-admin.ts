import type { InstanceFilter, ProviderAdmin } from './admin.js';

/** An administration that tells after every deletion and reset, also after one that failed half-way. */
export function announcingAdmin(admin: ProviderAdmin, deleted: () => void): ProviderAdmin {
  const announced = Object.create(admin) as ProviderAdmin;
  announced.deleteInstancesAtomic = (ids: readonly string[], force: boolean) =>
    admin.deleteInstancesAtomic(ids, force).finally(deleted);
  announced.deleteInstance = (instance: string, force: boolean) =>
    admin.deleteInstance(instance, force).finally(deleted);
  announced.deleteInstanceBulk = (filter: InstanceFilter) => admin.deleteInstanceBulk(filter).finally(deleted);
  announced.resetInstance = (instance: string, toEventId: number) =>
    admin.resetInstance(instance, toEventId).finally(deleted);
  return announced;
}
