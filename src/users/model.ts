import { type Static, Type } from '@sinclair/typebox';

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

/** Long enough that nobody guesses it, short enough that hashing it costs little. */
export const Password = Type.Object({
  password: Type.String({
    minLength: 10,
    maxLength: 200,
    errorMessage: 'must have 10 to 200 characters',
  }),
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

/** A person as an operator sees them. */
export interface Account extends User {
  /** Null: active. */
  disabledAt: string | null;
  organizations: Membership[];
}

/** An organization as one of its people sees it. */
export interface Membership {
  organizationId: string;
  organizationName: string;
  role: Role;
}

/** Where a session is used from. Null: unknown. */
export interface Client {
  address: string | null;
  userAgent: string | null;
}

/** A sign-in of a person in one browser. */
export interface Session extends Client {
  /** The SHA-256 of the cookie's value: names the session, and lets nobody in. */
  hash: string;
  createdAt: string;
  /** In milliseconds since 1970, to the hour. */
  lastUsedAt: number;
}

/** What a one-time link is for, once its token has been checked. */
export interface OneTimeLink {
  purpose: 'setup' | 'invitation' | 'password';
  userId: string | null;
  organizationId: string | null;
  role: Role | null;
}
