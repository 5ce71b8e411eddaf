export { apiKeys } from './keys.ts';
export { organizations } from './organizations.ts';
export { postCounts, posts } from './posts.ts';
