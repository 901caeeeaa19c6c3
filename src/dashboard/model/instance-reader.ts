import type { Provider } from '../../provider/provider.js';
import type { AncestorView, InstancePageView, InstanceView, KeyValueView } from '../views.js';
import { pageView, rowOfInfo } from './instance-row.js';
import { payloadView } from './payload-view.js';
import { statementsOfPage } from './statement-costs.js';

/** Children that a page of them holds. */
const CHILDREN_PER_PAGE = 50;
/** Ancestors above the parent's that are looked up; deeper trees are cut at the top. */
const MAX_ANCESTORS = 12;

/** Reads the parts of an instance's page: one statement each, but for children and ancestors. */
export class InstanceReader {
  /** SQL statements that {@link children} sends at most. */
  static readonly childrenStatements = statementsOfPage({ parent: 'any' });

  constructor(private readonly provider: Provider) {}

  /** @throws ProviderError when the instance is unknown */
  async view(id: string): Promise<InstanceView> {
    const head = await this.head(id);
    const [executions, values, ancestors, children] = await Promise.all([
      this.executions(id),
      this.values(id),
      this.ancestors(head.row.parent),
      this.children(id),
    ]);
    return { ...head, executions, values, ancestors, children };
  }

  /** @throws ProviderError when the instance is unknown */
  async head(id: string): Promise<Pick<InstanceView, 'row' | 'output'>> {
    const info = await this.provider.asManagement().getInstanceInfo(id);
    const field = info.status === 'Failed' ? 'error' : 'output';
    return {
      row: rowOfInfo(info, null),
      output: info.output === null ? null : payloadView(field, info.output),
    };
  }

  executions(id: string): Promise<number[]> {
    return this.provider.asManagement().listExecutions(id);
  }

  async values(id: string): Promise<KeyValueView[]> {
    const values = await this.provider.getKvAllValues(id);
    return [...values]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => ({ key, value: payloadView('value', value) }));
  }

  async children(id: string, after?: string): Promise<InstancePageView> {
    const query = { parent: id, limit: CHILDREN_PER_PAGE, after };
    return pageView(await this.provider.asManagement().listInstancesPage(query));
  }

  /** From the root down to the parent. Stops where an ancestor is missing, or at a circle. */
  private async ancestors(parent: string | null): Promise<AncestorView[]> {
    const found = new Map<string, AncestorView>();
    let next = parent;
    while (next !== null && !found.has(next) && found.size < MAX_ANCESTORS) {
      const [state] = await this.provider.instanceStates({ instances: [next], endedOnly: false });
      if (!state) break;
      found.set(next, { id: next, name: state.orchestrationName, status: state.status });
      next = await this.provider.asManagement().getParentId(next);
    }
    return [...found.values()].reverse();
  }
}
