export { drafts } from './drafts.ts';
export { events } from './events.ts';
export { integrations, repositories } from './integrations.ts';
export { apiKeys } from './keys.ts';
export { organizations } from './organizations.ts';
export { postCounts, posts } from './posts.ts';
export { triggerRuns, triggers } from './triggers.ts';
export { memberships, oneTimeLinks, sessions, users } from './users.ts';
export { deliveries, deliveryClaims } from './webhooks.ts';
