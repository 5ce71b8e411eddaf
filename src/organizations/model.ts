import { type Static, Type } from '@sinclair/typebox';
import { ID_PATTERN, ID_RULE } from '../lib/text.ts';

export const Plan = Type.Union([Type.Literal('free'), Type.Literal('pro')]);
export type Plan = Static<typeof Plan>;

export const NewOrganization = Type.Object({
  id: Type.Optional(Type.String({ pattern: ID_PATTERN, errorMessage: ID_RULE })),
  name: Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' }),
  plan: Plan,
});
export type NewOrganization = Static<typeof NewOrganization>;

/** The people who may create an organization in the dashboard. `owners`: of another organization. */
export type OrganizationCreation = 'owners' | 'anyone' | 'nobody';

/** `createdAt`: ISO 8601 with milliseconds, UTC. */
export type Organization = Required<NewOrganization> & { createdAt: string };
