import type { InstanceRow } from '../../views';
import { instanceAddress, Link } from '../router';
import { StatusBadge } from './status-badge';
import { Ago, Took } from './time';

/** Instances as rows; on a narrow screen as cards. */
export function InstanceTable({
  rows,
  label,
  withParent = false,
}: {
  rows: readonly InstanceRow[];
  label: string;
  withParent?: boolean;
}) {
  return (
    <table class="table" aria-label={label}>
      <thead>
        <tr>
          <th scope="col">Instance</th>
          <th scope="col">Status</th>
          <th scope="col">Orchestration</th>
          <th scope="col">Started</th>
          <th scope="col" class="right">
            Duration
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id}>
            <td class="cell-id">
              <Link to={instanceAddress(row.id)} class="row-link mono" title={row.id}>
                {row.id}
              </Link>
              {row.status === 'Failed' && row.preview ? (
                <span class="cell-note bad">{row.preview}</span>
              ) : row.customStatus ? (
                <span class="cell-note">{row.customStatus}</span>
              ) : withParent && row.parent !== null ? (
                <span class="cell-note">child of {row.parent}</span>
              ) : null}
            </td>
            <td class="cell-status">
              <StatusBadge status={row.status} />
            </td>
            <td class="cell-name">
              <span>{row.name}</span>
              <span class="version">{row.version}</span>
            </td>
            <td class="cell-started quiet">
              <Ago atMs={row.createdAtMs} />
            </td>
            <td class="cell-took right">
              <Took fromMs={row.createdAtMs} toMs={row.completedAtMs} exact />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
