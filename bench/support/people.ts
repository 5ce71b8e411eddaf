import { seenOf } from '../../src/dashboard/edit.ts';
import type { Deps } from '../../src/people/deps.ts';
import { createOrganization } from '../../src/people/organizations.ts';
import { createPost } from '../../src/posts/service.ts';
import { BenchError } from './run.ts';
import { seedingDeps, signIn } from './seed.ts';
import type { Server } from './server.ts';

/** Somebody with a draft open in the editor. */
export interface Writer {
  organizationId: string;
  postId: string;
  cookie: string;
  /** The version of the form after the last save. */
  seen: string;
}

export async function seedWriters(db: Deps['db'], count: number): Promise<Writer[]> {
  const deps = seedingDeps({ db });
  const writers: Writer[] = [];
  for (let at = 0; at < count; at++) {
    const organizationId = `org_writer_${at}`;
    await createOrganization(deps, { id: organizationId, name: `Writers ${at}`, plan: 'free' });
    const cookie = await signIn(db, organizationId, `writer-${at}@example.com`);
    const text = { title: 'Draft', markdown: 'Text', contentType: 'changelog' } as const;
    const { id: postId } = await createPost(deps, organizationId, text);
    writers.push({ organizationId, postId, cookie, seen: seenOf(text) });
  }
  return writers;
}

/** Saves a change as the script of the editor does. Throws `BenchError` unless it was saved. */
async function save(server: Server, writer: Writer, number: number): Promise<void> {
  const { organizationId, postId, cookie, seen } = writer;
  const form = { title: 'Draft', markdown: `Text ${number}`, seen, mark: '' };
  const response = await fetch(`${server.url}/dashboard/${organizationId}/posts/${postId}/autosave`, {
    method: 'POST',
    headers: { cookie },
    body: new URLSearchParams(form),
  });
  const html = await response.text();
  const saved = /data-outcome="saved" data-seen="([^"]+)"/.exec(html)?.[1];
  if (saved === undefined) throw new BenchError(`a save failed (${response.status}): ${html.slice(0, 300)}`);
  writer.seen = saved;
}

/** Everybody types until the returned function is called, which resolves to the number of saves a second. */
export function startTyping(
  servers: readonly Server[],
  writers: readonly Writer[],
  pauseMs: number,
): () => Promise<number> {
  const startedAt = performance.now();
  let isOver = false;
  let saves = 0;
  const typing = writers.map(async (writer, at) => {
    // Not all at once.
    await Bun.sleep((pauseMs * at) / writers.length);
    for (let number = 0; !isOver; number++) {
      const server = servers[(at + number) % servers.length];
      if (server === undefined) return;
      await save(server, writer, number);
      saves++;
      if (pauseMs > 0) await Bun.sleep(pauseMs);
    }
  });
  return async () => {
    isOver = true;
    const seconds = (performance.now() - startedAt) / 1_000;
    const rate = saves / seconds;
    await Promise.all(typing);
    return rate;
  };
}
