import { defineCollection } from 'astro:content';
import { tidingsLoader } from 'tidings/astro';

const changelog = defineCollection({
  loader: tidingsLoader({
    baseUrl: import.meta.env.TIDINGS_URL ?? 'http://localhost:3000',
    organizationId: import.meta.env.TIDINGS_ORGANIZATION ?? 'acme',
    key: import.meta.env.TIDINGS_KEY,
  }),
});

export const collections = { changelog };
