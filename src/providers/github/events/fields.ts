import { Type } from '@sinclair/typebox';
import { MaybeText, maybe } from '../../fields.ts';

/** A GitHub account. Null where the account is gone (a "ghost"). */
export const Account = maybe(Type.Object({ login: MaybeText }), 'an account');

/** The repository that an event is of, as far as branches are concerned. */
export const MaybeRepository = maybe(Type.Object({ default_branch: MaybeText }), 'a repository');

export const MaybeMilestone = maybe(Type.Object({ title: MaybeText }), 'a milestone');
