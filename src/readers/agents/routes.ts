import { Elysia } from 'elysia';
import { requireStillAllowed, withCheck } from '../../../db/checked.ts';
import { readUpload, UploadError, type UploadProblem } from '../../http/request.ts';
import { AccessEnded, AppError } from '../../lib/app-error.ts';
import { isRecord } from '../../lib/validation.ts';
import type { Deps } from '../../people/deps.ts';
import { foreignOrganization, verifyApiKey } from '../../people/keys/check.ts';
import { READ_PERMISSION, SUGGEST_PERMISSION } from '../../people/keys/store.ts';
import { findPublication, isMcpOn, type Publication } from '../public/model.ts';
import { SUGGEST_TOOL, type ToolDeps } from './tools.ts';

/** Room for the longest text of a post in most languages. */
const LIMITS = { maxBytes: 256 * 1024, timeoutMs: 15_000 };

const uploadFailures: Readonly<Record<UploadProblem, [status: number, message: string]>> = {
  too_large: [413, 'Payload too large. A message has 256 KiB at most'],
  aborted: [400, 'Upload aborted'],
  too_slow: [408, 'Upload timed out'],
  no_room: [503, 'Too many uploads'],
};

const SWITCHED_OFF =
  'Forbidden: the endpoint for agents is off. An owner can switch it on in the dashboard under Publishing, Agents';

/** MCP over streamable HTTP, without sessions and streams. The key is checked again before each write. */
export function agents(deps: ToolDeps & Pick<Deps, 'keys' | 'metrics'>) {
  return new Elysia({ name: 'agents' }).post(
    '/mcp',
    async ({ request }) => {
      const { headers } = request;
      requireOwnOrigin(headers, deps.publicUrl());
      const { keyId, name, organizationId } = await verifyApiKey(deps, headers, READ_PERMISSION);
      if (organizationId === null) throw foreignOrganization();
      const publication = await requireSwitchedOn(deps, organizationId);
      const db = withCheck(deps.db, async (tx, isWriting) => {
        const permission = isWriting ? SUGGEST_PERMISSION : READ_PERMISSION;
        const [isValid, isOn] = await Promise.all([
          deps.keys.isStillValid(tx, keyId, permission, isWriting),
          isMcpOn(tx, organizationId, isWriting),
        ]);
        if (!isValid)
          throw new AccessEnded(401, 'INVALID_KEY', { headers: { 'www-authenticate': 'Bearer' } });
        if (!isOn) throw new AccessEnded(403, SWITCHED_OFF);
      });
      const message = await readMessage(request);
      const maySuggest = concernsSuggesting(message) && (await holdsSuggestPermission(deps, headers));
      const { answerMessage } = await import('./server.ts');
      await requireStillAllowed(db);
      return answerMessage({ ...deps, db }, { keyId, name, publication, maySuggest }, request, message);
    },
    { parse: 'none' },
  );
}

/** Pages of other sites reach a local server through DNS rebinding. Other clients than browsers send no `Origin`. */
function requireOwnOrigin(headers: Headers, publicUrl: string): void {
  const origin = headers.get('origin');
  if (origin === null || origin === new URL(publicUrl).origin) return;
  throw new AppError(403, 'Forbidden: requests of other websites are not allowed');
}

/** 403 rather than 404: clients take a 404 for the end of a session, or for a server of an older protocol. */
async function requireSwitchedOn({ db }: Pick<Deps, 'db'>, organizationId: string): Promise<Publication> {
  const publication = await db.read((tx) => findPublication(tx, organizationId), { single: true });
  if (publication?.isMcpOn !== true) {
    throw new AppError(403, SWITCHED_OFF);
  }
  return publication;
}

/** One message. Batches, which only the version 2025-03-26 had, would answer any number of calls in one request. */
async function readMessage(request: Request): Promise<unknown> {
  let message: unknown;
  try {
    message = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(await readUpload(request, LIMITS)));
  } catch (error) {
    if (!(error instanceof UploadError)) throw new AppError(400, 'Invalid JSON');
    const [status, text] = uploadFailures[error.problem];
    throw new AppError(status, text, { isRefusal: true });
  }
  if (Array.isArray(message)) {
    throw new AppError(400, 'Batches are not supported. Send each message in a request of its own');
  }
  return message;
}

function concernsSuggesting(message: unknown): boolean {
  if (!isRecord(message)) return false;
  if (message.method === 'tools/list') return true;
  return message.method === 'tools/call' && isRecord(message.params) && message.params.name === SUGGEST_TOOL;
}

/** A second check of the key, only where the permission matters: Unkey may count each. */
async function holdsSuggestPermission(
  deps: Parameters<typeof verifyApiKey>[0],
  headers: Headers,
): Promise<boolean> {
  try {
    await verifyApiKey(deps, headers, SUGGEST_PERMISSION);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.status === 403) return false;
    throw error;
  }
}
