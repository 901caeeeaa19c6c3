import type { KeyValueView } from '../../views';
import { addressOf } from '../api';
import { Payload } from '../components/payload';
import { Empty } from '../components/states';

/** The key-value store of the instance. */
export function Values({ id, values }: { id: string; values: readonly KeyValueView[] }) {
  if (values.length === 0) {
    return (
      <Empty icon="key" title="No values">
        <p>The orchestration has stored nothing by key.</p>
      </Empty>
    );
  }
  return (
    <div class="values">
      {values.map(({ key, value }) => (
        <Payload key={key} payload={value} label={key} href={addressOf('/api/value', { id, key })} />
      ))}
    </div>
  );
}
