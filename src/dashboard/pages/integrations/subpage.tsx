/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import type { ReadTx } from '../../../../db/engine.ts';
import { type Integration, integrationName } from '../../../integrations/model.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import { AppError } from '../../../lib/app-error.ts';
import {
  type Answer,
  get,
  type MemberVisit,
  type Page,
  post,
  redirect,
  type View,
  view,
} from '../../page.ts';
import { once } from '../../submission.ts';
import { PageHead } from '../../view/layout.tsx';

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
