export type { AuditEvent } from './store.ts';

/** All recorded actions, by the groups that people filter by. */
export const auditGroups = {
  posts: [
    'post.published',
    'post.unpublished',
    'post.scheduled',
    'post.unscheduled',
    'post.changed',
    'post.deleted',
    'post.restored',
    'post.erased',
    'post.imported',
    'image.deleted',
  ],
  keys: ['key.created', 'key.revoked', 'key.deleted'],
  integrations: [
    'integration.connected',
    'integration.disconnected',
    'integration.enabled',
    'integration.disabled',
    'integration.place_added',
    'integration.place_removed',
    'integration.switched',
    'secret.rotated',
    'token.set',
  ],
  triggers: ['trigger.created', 'trigger.changed', 'trigger.enabled', 'trigger.disabled', 'trigger.deleted'],
  members: [
    'member.invited',
    'member.invitations_withdrawn',
    'member.joined',
    'member.removed',
    'member.role_changed',
  ],
  accounts: [
    'session.created',
    'session.ended',
    'sign_in.refused',
    'user.created',
    'user.disabled',
    'user.enabled',
    'user.deleted',
    'password.changed',
    'password.link_created',
  ],
  organization: ['organization.created', 'organization.changed'],
  public: ['publication.changed', 'hook.created', 'hook.changed', 'hook.deleted'],
} as const;

export type AuditGroup = keyof typeof auditGroups;
export type AuditAction = (typeof auditGroups)[AuditGroup][number];

export const auditActions: readonly AuditAction[] = Object.values(auditGroups).flat();

/** How long an organization's log entries and audit events are kept, by plan, in days (section 2 of the spec). */
export const retentionDaysOf: Readonly<Record<'free' | 'pro', number>> = { free: 7, pro: 30 };

/** How long events outside an organization are kept, in days. */
export const ACCOUNT_RETENTION_DAYS = 30;

/** The author of a change. The name is kept as text, so that the log still names a deleted account. */
export interface Actor {
  /** `anonymous`: nobody has signed in. */
  type: 'user' | 'command_line' | 'server' | 'trigger' | 'anonymous';
  id: string | null;
  /**
   * A user's email address, the system user of a command, a trigger's content type, or for the server the person who
   * scheduled what it does.
   */
  name: string | null;
  /** The client's IP address; null where there is no client. */
  address: string | null;
}

export const SERVER: Actor = { type: 'server', id: null, name: null, address: null };

/** The actor at the start of a sentence. */
export function describeActor({ type, id, name }: Omit<Actor, 'address'>): string {
  switch (type) {
    case 'user':
      return name ?? id ?? 'A user';
    case 'command_line':
      return name === null ? 'The command line' : `${name} on the command line`;
    case 'server':
      return name === null ? 'Tidings' : `Tidings for ${name}`;
    case 'trigger':
      return name === null ? 'A trigger' : `The ${name} trigger`;
    case 'anonymous':
      return 'Somebody';
  }
}

const MAX_QUOTED_LENGTH = 100;

/** A name or title in quotes, on one line and cut. */
export function quote(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim();
  const cut = line.length > MAX_QUOTED_LENGTH ? `${line.slice(0, MAX_QUOTED_LENGTH).toWellFormed()}…` : line;
  return `“${cut}”`;
}
