import type { Static } from '@sinclair/typebox';
import type { Maybe } from '../../fields.ts';
import type { UpdatedFrom } from './fields.ts';

/** What happened to an issue or a project. */
export type EntityAction = 'completed' | 'created' | 'updated' | 'removed';

/**
 * Our action for one of Linear's, null for one that we do not know. An entity is completed when this very event
 * moved it into a completed state: asking for its state alone would complete it again with each later edit.
 */
export function entityAction(
  action: string,
  {
    isCompleted,
    stateField,
    updatedFrom,
  }: { isCompleted: boolean; stateField: string; updatedFrom: Maybe<Static<typeof UpdatedFrom>> },
): EntityAction | null {
  if (action === 'create') return isCompleted ? 'completed' : 'created';
  if (action === 'remove') return 'removed';
  if (action !== 'update') return null;
  return isCompleted && Object.hasOwn(updatedFrom ?? {}, stateField) ? 'completed' : 'updated';
}
