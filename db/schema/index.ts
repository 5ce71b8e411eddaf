export * from './integrations.ts';
export * from './organizations.ts';
export * from './posts.ts';
export * from './triggers.ts';
