import { editPost, savePosts } from '../../src/posts/service.ts';
import { createHookSender } from '../../src/readers/hooks/send.ts';
import { readConfig } from '../../src/server/config.ts';
import { openServices } from '../../src/server/services.ts';

// Publishes and changes posts while it sends the outbox, until it is killed: killed-hooks.ts DATA_DIR ROUND. With the
// round `drain` it publishes nothing, and ends when the outbox is empty.

const [dataDir = '', round = ''] = Bun.argv.slice(2);
const environment = { DATA_DIR: dataDir, LOG_LEVEL: 'silent', HOOK_PRIVATE_HOSTS: '127.0.0.1' };
const services = await openServices(readConfig({}, environment), 'server');
const send = createHookSender(services);

const at = '2026-01-01T00:00:00.000Z';
const post = {
  organizationId: 'acme',
  content: 'Text',
  markdown: 'Text',
  contentType: 'changelog',
  status: 'published',
  sourceMetadata: null,
  createdAt: at,
  updatedAt: at,
} as const;

async function publish(): Promise<never> {
  for (let change = 0; ; change++) {
    const id = `round-${round}-${change % 5}`;
    const title = `Change ${change}`;
    if (change < 5) await savePosts(services.db, [{ ...post, id, title }]);
    else await editPost(services, id, { title });
    process.stdout.write(`${id}\n`);
  }
}

if (round === 'drain') {
  await send();
  await services.close();
} else {
  publish().catch(() => process.exit(1));
  for (;;) {
    await send();
    await Bun.sleep(1);
  }
}
