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
  return recordChange(tx, deps, integration, 'integration.switched', `switched to ${to}`);
}
