import { createClient } from 'tidings/client';

export const tidings = createClient({
  baseUrl: process.env.TIDINGS_URL ?? 'http://localhost:3000',
  organizationId: process.env.TIDINGS_ORGANIZATION ?? 'acme',
  key: process.env.TIDINGS_KEY,
});
