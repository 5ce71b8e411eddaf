import { type Static, Type } from '@sinclair/typebox';
import type { Organization } from '../organizations/model.ts';

export const Role = Type.Union([Type.Literal('owner'), Type.Literal('member')]);
/** An owner manages keys, integrations, triggers, members and settings; a member writes and publishes posts. */
export type Role = Static<typeof Role>;

export const Email = Type.Object({
  email: Type.String({
    maxLength: 254,
    pattern: '^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$',
    errorMessage: 'must be an e-mail address, such as ann@acme.example',
  }),
});

/** The maximum bounds the cost of a hash. */
export const Password = Type.Object({
  password: Type.String({ minLength: 10, maxLength: 200, errorMessage: 'must have 10 to 200 characters' }),
});

/** A person who can sign in. */
export interface User {
  id: string;
  email: string;
  createdAt: string;
}

/** A person in an organization. */
export interface Member extends User {
  role: Role;
  /** Null: active. */
  disabledAt: string | null;
}

/** A person as the command line prints them. */
export interface Account extends Omit<Member, 'role'> {
  organizations: { organizationId: string; organizationName: string; role: Role }[];
}

/** An organization of a person, and their role in it. */
export interface Membership {
  organization: Organization;
  role: Role;
}

/** The client that a session was last used from. Null: unknown. */
export interface Client {
  address: string | null;
  userAgent: string | null;
}

/** A sign-in of a person in one browser. */
export interface Session extends Client {
  /** The SHA-256 of the cookie's token: names the session without giving access to it. */
  hash: string;
  createdAt: string;
  /** In milliseconds since 1970, to the hour. */
  lastUsedAt: number;
}

/** A link that works once, by the token in it. */
export interface OneTimeLink {
  purpose: 'setup' | 'invitation' | 'password';
  userId: string | null;
  organizationId: string | null;
  role: Role | null;
}
