import { changing, organization, type ReadTx } from '../../../db/engine.ts';
import { commonHeaders } from '../../http/respond.ts';
import { AppError, type ChangeOf, changeFor, invalidField } from '../../lib/app-error.ts';
import { BoundedMap, fullAgainAt, type RateLimit, waitMs } from '../../lib/bounded-map.ts';
import { count, cut } from '../../lib/text.ts';
import { type Clock, DAY_MS } from '../../lib/time.ts';
import { requireValid } from '../../lib/validation.ts';
import { type AuditDeps, recordAudit } from '../../people/audit.ts';
import type { Deps } from '../../people/deps.ts';
import { getOrganization } from '../../people/organization-store.ts';
import type { Organization } from '../../people/organizations.ts';
import { findMedia } from '../../posts/media/store.ts';
import {
  ADDRESS_PROBLEM,
  deleteFormerSlug,
  findPublication,
  findPublicationByFormerSlug,
  findPublicationBySlug,
  findSlugOwner,
  type Publication,
  PublicationChange,
  type Surface,
  saveFormerSlug,
  savePublication,
} from './model.ts';

const REDIRECT_MS = 365 * DAY_MS;

/** The organization has changed its slug, and the surface is on. */
class SlugChanged extends AppError {
  constructor(readonly slug: string) {
    super(404, 'Not found');
  }
}

/** The settings of an organization; those it would start with when it has none yet. Throws `AppError` 404. */
export async function readPublication(tx: ReadTx, organizationId: string): Promise<Publication> {
  const organization = await getOrganization(tx, organizationId);
  return (await findPublication(tx, organizationId)) ?? initial(tx, organization);
}

export async function getPublic(tx: ReadTx, slug: string, surface: Surface): Promise<Publication> {
  const publication = await findPublicationBySlug(tx, slug);
  if (publication?.[surface] === true) return publication;
  const renamed = publication === null ? await findPublicationByFormerSlug(tx, slug) : null;
  throw renamed?.[surface] === true ? new SlugChanged(renamed.slug) : new AppError(404, 'Not found');
}

/** It leads to `publicUrl`: a custom domain's proxy may still ask for the old slug, and redirect forever. */
export async function followSlug(
  request: Request,
  publicUrl: string,
  respond: () => Promise<Response>,
): Promise<Response> {
  try {
    return await respond();
  } catch (error) {
    if (!(error instanceof SlugChanged)) throw error;
    const { pathname, search } = new URL(request.url, 'http://localhost');
    const location = `${publicUrl}/changelog/${error.slug}${pathname.replace(/^\/changelog\/[^/.]*/, '')}${search}`;
    // Revalidated, because the slug may change back or be taken by another organization.
    const headers = { ...commonHeaders, location, 'cache-control': 'public, no-cache' };
    return new Response(null, { status: 301, headers });
  }
}

async function initial(tx: ReadTx, { id, name }: Organization): Promise<Publication> {
  const short = slugOf(name) || slugOf(id) || 'changelog';
  const owner = (await findSlugOwner(tx, short)) ?? (await findPublicationByFormerSlug(tx, short));
  // Of two organizations with one name, the second starts with its id.
  const slug = owner === null ? short : slugOf(`${id} ${name}`) || short;
  return {
    organizationId: id,
    slug,
    isPageOn: false,
    isFeedOn: false,
    isMcpOn: false,
    title: `${cut(name, 80).trim()} changelog`,
    description: '',
    accentColor: '#2563eb',
    logoId: null,
    links: [],
    address: null,
    version: '',
    updatedAt: '',
  };
}

/** `Müller & Söhne` becomes `muller-sohne`. */
function slugOf(name: string): string {
  const words = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return words.filter(Boolean).join('-').slice(0, 63).replace(/-$/, '');
}

/** As browsers write it. URLs allow hosts such as `a;b`, which would end a rule of the policy. Throws `AppError` 400. */
function requireAddress(address: string): string {
  const url = URL.parse(address);
  if (url === null || !/^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/.test(url.hostname)) {
    throw invalidField('address', ADDRESS_PROBLEM);
  }
  return url.origin + url.pathname.replace(/\/+$/, '');
}

const surfaces: Readonly<Record<Surface, string>> = {
  isPageOn: 'the public page',
  isFeedOn: 'the public feeds',
  isMcpOn: 'the endpoint for agents',
};

/** `input`: the change, or what makes it of the stored settings. Throws `AppError` 400, 404, and 409 `slug_taken`. */
export async function changePublication(
  deps: AuditDeps & Pick<Deps, 'ids'>,
  organizationId: string,
  input: ChangeOf<Publication, PublicationChange>,
): Promise<Publication> {
  return deps.db.write(
    async (tx) => {
      const before = await readPublication(tx, organizationId);
      const valid = requireValid(PublicationChange, changeFor(before, input));
      const change = valid.address ? { ...valid, address: requireAddress(valid.address) } : valid;
      const after: Publication = {
        ...before,
        ...change,
        title: (change.title ?? before.title).trim(),
        description: (change.description ?? before.description).trim(),
        version: deps.ids.newId('version'),
        updatedAt: deps.clock.now().toISOString(),
      };
      const owner = await findSlugOwner(tx, after.slug);
      if (owner !== null && owner !== organizationId) {
        throw new AppError(409, `The address /changelog/${after.slug} is in use. Choose another one`, {
          code: 'slug_taken',
          fields: { slug: 'is in use. Choose another one' },
        });
      }
      if (after.logoId !== null && after.logoId !== before.logoId) {
        const logo = await findMedia(tx, after.logoId);
        if (logo?.organizationId !== organizationId)
          throw invalidField('logoId', 'must be an image of yours');
      }
      await savePublication(tx, after);
      await deleteFormerSlug(tx, after.slug);
      if (before.version !== '' && before.slug !== after.slug) {
        const expiresAt = deps.clock.now().getTime() + REDIRECT_MS;
        await saveFormerSlug(tx, { slug: before.slug, organizationId, expiresAt });
      }
      const switched = Object.entries(surfaces)
        .filter(([surface]) => before[surface as Surface] !== after[surface as Surface])
        .map(([surface, name]) => `switched ${name} ${after[surface as Surface] ? 'on' : 'off'}`);
      const summary = switched.join(' and ') || 'changed the settings of the public page';
      const target = { type: 'organization', id: organizationId };
      await recordAudit(tx, deps, { organizationId, action: 'publication.changed', target, summary });
      return after;
    },
    changing(organization(organizationId)),
  );
}

// Searching is the one thing on the page that costs work at every request. Limits are kept in the memory of each process:
// counting in the database would cost more than the search.

const PER_CLIENT: RateLimit = { burst: 20, everyMs: 1_000 };
const ALL_CLIENTS: RateLimit = { burst: 50, everyMs: 200 };

/** Client addresses that are remembered. Beyond that, the one that searched least recently is forgotten. */
const MAX_CLIENTS = 10_000;

/** Returns a function that counts a search of a client. Throws `AppError` 429. */
export function createSearchLimit(clock: Clock) {
  const clients = new BoundedMap<string, number>(MAX_CLIENTS);
  let allFullAt = 0;

  return function countSearch(client: string): void {
    const now = clock.now().getTime();
    const fullAt = taken(clients.get(client), PER_CLIENT, now);
    allFullAt = taken(allFullAt, ALL_CLIENTS, now);
    clients.set(client, fullAt);
  };
}

/** The bucket after another search. Throws `AppError` 429 when it is empty. */
function taken(kept: number | undefined, limit: RateLimit, now: number): number {
  const fullAt = fullAgainAt(kept, limit, now);
  const seconds = Math.ceil(waitMs(fullAt, limit, now) / 1000);
  if (seconds <= 0) return fullAt + limit.everyMs;
  throw new AppError(429, `Too many searches. Try again in ${count(seconds, 'second')}`, {
    code: 'too_many_searches',
    headers: { 'retry-after': String(seconds) },
  });
}
