/** @jsxRuntime automatic @jsxImportSource preact */
import { type CreatedKey, READ_PERMISSION } from '../../../keys/model.ts';
import { getOwnKey, KeyServiceUnavailable } from '../../../keys/service.ts';
import { describeKeyWarning } from '../../../keys/words.ts';
import { AppError } from '../../../lib/app-error.ts';
import { once } from '../../once.ts';
import { get, type MemberVisit, type Page, post, redirect, type View, view } from '../../page.ts';
import { CreatedKeyPage } from './created-key.tsx';
import { type KeyList, KeysPage } from './keys-page.tsx';
import { expiryOf, readNewKey } from './new-key.tsx';

const PATH = '/dashboard/:organizationId/settings/keys';

const REFUSED = 'the key service refused a change';

export const keys: readonly Page[] = [
  get(PATH, 'member', async (visit) => showKeys(visit)),

  // The answer shows the key's value, once and nowhere else. A redirect would have to carry it somewhere.
  post(PATH, 'owner', async (visit) => {
    const { deps, form, base } = visit;
    try {
      const made = await once(deps.db, form.get('mark'), () => createKey(visit));
      if (made === null) return showKeys(visit, { status: 409, isSentAgain: true });
      if (made.warning !== undefined) deps.log.warn({ keyId: made.id }, describeKeyWarning(made.warning));
      const curl = curlLine(deps.publicUrl(), made);
      return view('API keys', <CreatedKeyPage made={made} curl={curl} base={base} />, { section: 'keys' });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (error instanceof KeyServiceUnavailable) return showOutage(visit, error);
      if (error.status >= 500) deps.log.warn({ err: error }, REFUSED);
      return showKeys(visit, { status: error.status, error: error.message });
    }
  }),

  post(`${PATH}/:keyId/revoke`, 'owner', (visit) =>
    changeKey(visit, async (keyId, name) => {
      const { keys } = visit.deps;
      await keys.revokeKey(keyId);
      return `“${name}” is revoked. ${keys.revocationDelay}`;
    }),
  ),

  post(`${PATH}/:keyId/delete`, 'owner', (visit) =>
    changeKey(visit, async (keyId, name) => {
      await visit.deps.keys.deleteKey(keyId);
      return `“${name}” is deleted.`;
    }),
  ),
];

function createKey({ deps, organization, form }: MemberVisit): Promise<CreatedKey> {
  const given = readNewKey(form);
  return deps.keys.createKey({
    organizationId: organization.id,
    name: given.name,
    permissions: [READ_PERMISSION],
    expiresAt: expiryOf(given, deps.clock.now()),
  });
}

/** Changes a key of the organization. A refusal and an outage show the page, with what they mean. */
async function changeKey(visit: MemberVisit, change: (keyId: string, name: string) => Promise<string>) {
  const { deps, organization, params, base } = visit;
  try {
    const { id, name } = await getOwnKey(deps, organization.id, params.keyId ?? '');
    return redirect(`${base}/settings/keys`, await change(id, name));
  } catch (error) {
    if (error instanceof KeyServiceUnavailable) return showOutage(visit, error);
    if (!(error instanceof AppError) || error.status < 500) throw error;
    deps.log.warn({ err: error }, REFUSED);
    return showKeys(visit, { status: error.status, refusal: error.message });
  }
}

async function showKeys(
  visit: MemberVisit,
  refused: { status?: number; error?: string; refusal?: string; isSentAgain?: boolean } = {},
): Promise<View> {
  const { status = 200, ...about } = refused;
  const list = await listKeys(visit);
  return view('API keys', <KeysPage visit={visit} list={list} {...about} />, { section: 'keys', status });
}

/** The list is not asked for again: whoever keeps the keys has just not answered. */
function showOutage(visit: MemberVisit, error: AppError): View {
  visit.deps.log.warn({ err: error }, 'a key could not be changed');
  const list: KeyList = { trouble: error };
  return view('API keys', <KeysPage visit={visit} list={list} isChange />, { section: 'keys', status: 503 });
}

/** Whoever keeps the keys may not answer, or not let us ask: the page says so instead of the list. */
async function listKeys({ deps, organization }: MemberVisit): Promise<KeyList> {
  try {
    return { keys: await deps.keys.listKeys(organization.id) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    deps.log.warn({ err: error }, 'the keys could not be listed');
    return { trouble: error };
  }
}

function curlLine(publicUrl: string, { organizationId, key }: CreatedKey): string {
  return `curl -H "Authorization: Bearer ${key}" "${publicUrl}/v1/${organizationId}/posts"`;
}
