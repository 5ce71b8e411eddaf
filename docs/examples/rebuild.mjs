import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.TIDINGS_HOOK_SECRET);
const MAX_BYTES = 65_536;
let isBuilding = false;
let isStale = false;

/** One build at a time. Hooks that arrive during a build lead to one more. */
function rebuild() {
  isStale = true;
  if (isBuilding) return;
  isBuilding = true;
  isStale = false;
  spawn('npm run build', { shell: true, stdio: 'inherit' }).on('close', (code) => {
    console.log(code === 0 ? 'Built the site' : 'The build failed. The site stays as it was.');
    isBuilding = false;
    if (isStale) rebuild();
  });
}

async function readBody(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error('The body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const server = createServer(async (request, response) => {
  try {
    webhook.verify(await readBody(request), request.headers);
  } catch {
    response.writeHead(401).end();
    return;
  }
  rebuild();
  response.writeHead(202).end();
});
server.listen(Number(process.env.PORT ?? 4000), '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`);
});
