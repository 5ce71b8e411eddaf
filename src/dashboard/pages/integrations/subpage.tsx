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
import { formatTime } from '../../../lib/time.ts';
import { ProviderProblem } from '../../../providers/api.ts';
import type { IntegrationType } from '../../../providers/ids.ts';
import { providerOf } from '../../../providers/index.ts';
import { withPeriod } from '../../fields.ts';
import {
  type Answer,
  get,
  type MemberVisit,
  type Page,
  post,
  redirect,
  type Visit,
  view,
} from '../../page.ts';
import { once } from '../../submission.ts';

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
  path: string;
  /** The page shows why its form failed. */
  isRefused?: boolean;
}

type Answering = (visit: IntegrationVisit) => Answer | Promise<Answer>;
/** Responds to a failure, which passes without it. */
type Failing = (visit: IntegrationVisit, error: unknown) => Answer | Promise<Answer>;

const answering = (answer: Answering, failed?: Failing) => async (member: MemberVisit) => {
  const integration = await requireIntegration(member);
  const visit = { ...member, integration, path: `${member.base}/integrations/${integration.id}` };
  try {
    return await answer(visit);
  } catch (error) {
    if (failed === undefined) throw error;
    return failed(visit, error);
  }
};

export function integrationPage(name: string, show: Answering, failed?: Failing): Page {
  return get(`${PATH}/${name}`, 'owner', answering(show, failed));
}

export function integrationForm(name: string, work: Answering, failed?: Failing): Page {
  const done = async (visit: IntegrationVisit) =>
    (await once(visit.deps, visit.form.get('mark'), async () => work(visit))) ??
    redirect(visit.path, 'This form was already submitted. Tidings did not repeat the change.');
  return post(`${PATH}/${name}`, 'owner', answering(done, failed));
}

/** A page with a form of its own. `show` gets the failure of `work`, and the sentence about it. */
export function formPages(
  name: string,
  show: (visit: IntegrationVisit, problem?: string, error?: unknown) => Answer | Promise<Answer>,
  work: Answering,
): Page[] {
  return [
    integrationPage(name, (visit) => show(visit)),
    integrationForm(name, work, (visit, error) =>
      show({ ...visit, isRefused: true }, problemOf(visit, error), error),
    ),
  ];
}

const crumbsOf = (integration: Integration) => [
  { to: 'integrations', label: 'Integrations' },
  { to: `integrations/${integration.id}`, label: integrationName(integration) },
];

export function subpage(
  { integration, isRefused = false }: IntegrationVisit,
  head: { title: string; heading?: string },
  ...content: ComponentChildren[]
) {
  const status = isRefused ? 400 : undefined;
  return view({ ...head, crumbs: crumbsOf(integration), status }, ...content);
}

/** The message for a form that failed. Throws the error again if it is a failure of the server. */
export function problemOf(visit: Pick<Visit, 'look'>, error: unknown): string {
  if (error instanceof ChangeFailed) {
    return `${problemOf(visit, error.problem)} ${describeOutcome(error.outcome)}`;
  }
  if (error instanceof ProviderProblem) {
    const time = (at: string) => formatTime(at, visit.look.zone);
    return withPeriod(describeProviderProblem(error, time));
  }
  if (error instanceof AppError && error.status < 500) return withPeriod(error.message);
  throw error;
}

const MAX_NAMES_LENGTH = 150;

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
