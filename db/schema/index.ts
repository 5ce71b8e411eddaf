export { integrations, repositories } from './integrations.ts';
export { apiKeys } from './keys.ts';
export { organizations } from './organizations.ts';
export { postCounts, posts } from './posts.ts';
export { deliveries, deliveryClaims } from './webhooks.ts';
