import { type Static, Type } from '@sinclair/typebox';
import type { Organization } from '../organizations/model.ts';

export const Role = Type.Union([Type.Literal('owner'), Type.Literal('member')]);
/** An owner manages keys, integrations, triggers, members and settings; a member writes and publishes posts. */
export type Role = Static<typeof Role>;

/** Part of an address, without invisible or reordering characters, which make two addresses look alike. U+2800 is a blank. */
const VISIBLE = '[^\\s@\\p{Cc}\\p{Cf}\\p{Co}\\p{Cs}\\p{Default_Ignorable_Code_Point}\\u2800]+';

export const Email = Type.Object({
  email: Type.RegExp(new RegExp(`^(?=.{1,254}$)${VISIBLE}@${VISIBLE}\\.${VISIBLE}$`, 'u'), {
    errorMessage: 'must be an email address without invisible characters, such as ann@acme.example',
  }),
});

/** The maximum bounds the cost of a hash. */
export const Password = Type.Object({
  password: Type.String({ minLength: 10, maxLength: 200, errorMessage: 'must have 10 to 200 characters' }),
});

export interface User {
  id: string;
  email: string;
  createdAt: string;
}

export interface Member extends User {
  role: Role;
  /** Null: active. */
  disabledAt: string | null;
}

/** A person as the command line prints them. */
export interface Account extends Omit<Member, 'role'> {
  organizations: { organizationId: string; organizationName: string; role: Role }[];
}

export interface Membership {
  organization: Organization;
  role: Role;
}
