import type { WriteTx } from '../../db/engine.ts';
import type { AuditContext } from '../audit/store.ts';
import { recordChange } from '../integrations/model.ts';
import type { Integration } from '../integrations/store.ts';

/** Records how an integration gets its events from now on. */
export function recordSwitch(
  tx: WriteTx,
  deps: AuditContext,
  integration: Integration,
  to: 'polling' | 'webhooks',
): Promise<number> {
  const did = to === 'polling' ? 'started polling for' : 'replaced polling by webhooks for';
  return recordChange(tx, deps, integration, 'integration.switched', did);
}
