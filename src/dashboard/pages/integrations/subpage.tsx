import type { ComponentChildren } from 'preact';
import type { ReadTx } from '../../../../db/engine.ts';
import { type Integration, listIntegrations } from '../../../integrations/store.ts';
import {
  ChangeFailed,
  type ConnectedPlace,
  describeOutcome,
  describeProviderProblem,
  integrationName,
} from '../../../integrations/words.ts';
import { AppError } from '../../../lib/app-error.ts';
import { ProviderProblem } from '../../../providers/api.ts';
import type { IntegrationType } from '../../../providers/ids.ts';
import { providerOf } from '../../../providers/index.ts';
import { type Answer, get, type MemberVisit, type Page, post, redirect } from '../../page.ts';
import { once } from '../../submission.ts';
import { type View, view } from '../../view/document.tsx';
import { PageHead } from '../../view/layout.tsx';
import { exactly } from '../../view/time.tsx';

/** The name of the field of a token. No page shows its value again. */
export const TOKEN_FIELD = 'apiToken';

// Pages and forms below the page of an integration. All are for owners.

export const PATH = '/dashboard/:organizationId/integrations/:integrationId';

export function requireIntegration(visit: MemberVisit): Promise<Integration> {
  return visit.deps.db.read((tx) => getIntegration(tx, visit));
}

/** The integration of the path. Throws `AppError` 404, also for another organization's. */
export async function getIntegration(
  tx: ReadTx,
  { organization, params }: MemberVisit,
): Promise<Integration> {
  const all = await listIntegrations(tx, organization.id);
  const integration = all.find(({ id }) => id === params.integrationId);
  if (integration !== undefined) return integration;
  throw new AppError(404, 'Integration not found. It may have been disconnected.');
}

export interface IntegrationVisit extends MemberVisit {
  integration: Integration;
  /** Of the integration's page. */
  path: string;
}

async function withIntegration(visit: MemberVisit): Promise<IntegrationVisit> {
  const integration = await requireIntegration(visit);
  return { ...visit, integration, path: `${visit.base}/integrations/${integration.id}` };
}

/** `failed` responds to a failure, which passes without it. */
export function integrationPage(
  name: string,
  show: (visit: IntegrationVisit) => Promise<Answer>,
  failed?: (visit: IntegrationVisit, error: unknown) => Promise<Answer>,
): Page {
  return get(`${PATH}/${name}`, 'owner', async (member) => {
    const visit = await withIntegration(member);
    try {
      return await show(visit);
    } catch (error) {
      if (failed === undefined) throw error;
      return failed(visit, error);
    }
  });
}

/** A form whose work is done once. `failed` responds to a failure, which passes without it. */
export function integrationForm(
  name: string,
  work: (visit: IntegrationVisit) => Promise<Answer>,
  failed?: (visit: IntegrationVisit, error: unknown) => Promise<Answer>,
): Page {
  return post(`${PATH}/${name}`, 'owner', async (member) => {
    const visit = await withIntegration(member);
    try {
      const answer = await once(visit.deps, visit.form.get('mark'), () => work(visit));
      return (
        answer ?? redirect(visit.path, 'This form was already submitted. Tidings did not repeat the change.')
      );
    } catch (error) {
      if (failed === undefined) throw error;
      return failed(visit, error);
    }
  });
}

/** `heading`: default, the title. */
export function subpage(
  { base, path, integration }: IntegrationVisit,
  { title, heading = title, isRefused = false }: { title: string; heading?: string; isRefused?: boolean },
  body: ComponentChildren,
): View {
  return view(
    title,
    <>
      <PageHead
        title={heading}
        crumbs={[
          { to: `${base}/integrations`, label: 'Integrations' },
          { to: path, label: integrationName(integration) },
        ]}
      />
      {body}
    </>,
    { section: 'integrations', ...(isRefused && { status: 400 }) },
  );
}

export const exactTime = (time: string) => exactly(new Date(time));

/** The message for a form that failed. Throws the error again if it is a failure of the server. */
export function problemOf(error: unknown, type: IntegrationType): string {
  if (error instanceof ChangeFailed) {
    return `${problemOf(error.problem, type)} ${describeOutcome(error.outcome)}`;
  }
  if (error instanceof ProviderProblem) return sentence(describeProviderProblem(error, type, exactTime));
  if (error instanceof AppError && error.status < 500) return sentence(error.message);
  throw error;
}

export function sentence(text: string): string {
  return text.endsWith('.') ? text : `${text}.`;
}

/** The names in a notice, in characters; longer ones are counted instead. */
const MAX_NAMES_LENGTH = 150;

/** The names of places, or their number where the names are long. */
export function describeNames(type: IntegrationType, places: readonly string[]): string {
  const names = places.join(', ');
  const isLong = places.length > 1 && names.length > MAX_NAMES_LENGTH;
  return isLong ? `${places.length} ${providerOf(type).words.place.many}` : names;
}

/** Such as "Connected: acme/rocket, acme/lander." A ping proves that the provider can reach Tidings. */
export function describeConnected(
  type: IntegrationType,
  places: readonly Pick<ConnectedPlace, 'place' | 'hasPinged'>[],
  done = 'Connected',
): string {
  const { name: provider } = providerOf(type);
  const names = places.map(({ place }) => place);
  const connected = `${done}: ${describeNames(type, names)}.`;
  if (places.some(({ hasPinged }) => hasPinged === false)) {
    return `${connected} The ping from ${provider} has not arrived yet. Check again in a moment.`;
  }
  return places.some(({ hasPinged }) => hasPinged)
    ? `${connected} ${provider} can reach Tidings.`
    : connected;
}
