import type { ResetResult } from '../../admin.js';
import { ProviderError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';

export async function resetInstance(_ctx: ProviderContext, _instance: string, _toEventId: number): Promise<ResetResult> {
  throw ProviderError.permanent('reset_instance', 'not yet');
}
