import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createClient } from 'tidings/client';

const file = '.cache/tidings.json';

function savedResponses() {
  try {
    return new Map(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return new Map();
  }
}

const kept = savedResponses();
const tidings = createClient({
  baseUrl: process.env.TIDINGS_URL ?? 'http://localhost:3000',
  organizationId: process.env.TIDINGS_ORGANIZATION ?? 'acme',
  key: process.env.TIDINGS_KEY,
  kept,
});

export default async function () {
  const posts = [];
  for await (const post of tidings.posts({ contentType: 'changelog' })) posts.push(post);
  mkdirSync('.cache', { recursive: true });
  writeFileSync(file, JSON.stringify([...kept]));
  return posts;
}
