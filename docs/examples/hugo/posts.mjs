import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createClient } from 'tidings/client';

const tidings = createClient({
  baseUrl: process.env.TIDINGS_URL ?? 'http://localhost:3000',
  organizationId: process.env.TIDINGS_ORGANIZATION ?? 'acme',
  key: process.env.TIDINGS_KEY,
});

const posts = [];
for await (const post of tidings.posts({ contentType: 'changelog' })) posts.push(post);

const folder = 'content/changelog';
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const { id, title, createdAt, updatedAt, markdown } of posts) {
  const front = { title, date: createdAt, lastmod: updatedAt, url: `/changelog/${id}/` };
  // An invisible character keeps Hugo from running text as a shortcode.
  const text = markdown.replaceAll(/\{\{(?=[<%])/g, '{{\u2060');
  writeFileSync(`${folder}/post-${id}.md`, `${JSON.stringify(front, null, 2)}\n\n${text}\n`);
}
