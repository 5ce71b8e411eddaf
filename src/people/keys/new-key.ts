import { type Static, Type } from '@sinclair/typebox';
import { requireValid } from '../../lib/validation.ts';

const NewKey = Type.Object({
  organizationId: Type.String(),
  name: Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' }),
  permissions: Type.Array(
    Type.String({
      pattern: '^[A-Za-z0-9_.:-]{1,100}$',
      errorMessage: 'must be 1 to 100 letters, digits and _.:-, such as api.read',
    }),
    { maxItems: 50, uniqueItems: true },
  ),
  expiresAt: Type.Union([Type.String(), Type.Null()], { description: 'ISO 8601, UTC; null: never.' }),
});
export type NewKey = Static<typeof NewKey>;

/** Throws `AppError` 400. */
export const requireNewKey = (input: unknown): NewKey => requireValid(NewKey, input);
