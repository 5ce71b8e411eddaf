/** @jsxRuntime automatic @jsxImportSource preact */

import { type Integration, providerNames } from '../../../integrations/model.ts';
import { ChangeFailed } from '../../../integrations/problems.ts';
import { setToken } from '../../../integrations/token.ts';
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
import { integrationName } from '../deliveries/rows.tsx';
import { requireIntegration } from './find.ts';
import { showIntegration } from './one.tsx';
import { TOKEN_FIELD, TokenField } from './token-field.tsx';
import { describeConnected, problemOf } from './words.ts';

const PATH = '/dashboard/:organizationId/integrations/:integrationId/token';

/** An integration's token: its first, or a newer one. */
export const tokenPages: readonly Page[] = [
  get(PATH, 'owner', async (visit) => showForm(visit, await requireIntegration(visit))),
  post(PATH, 'owner', async (visit) => takeToken(visit, await requireIntegration(visit))),
];

async function takeToken(visit: MemberVisit, integration: Integration): Promise<Answer> {
  const { deps, form, base } = visit;
  const { id, type } = integration;
  try {
    const places = await setToken(deps, id, form.get(TOKEN_FIELD) ?? '');
    return redirect(
      `${base}/integrations/${id}`,
      describeConnected(type, places, 'kept by Tidings from now on'),
    );
  } catch (error) {
    const message = problemOf(error, type);
    const isStored = error instanceof ChangeFailed && error.outcome.code === 'token_stored';
    return isStored
      ? showIntegration(visit, { about: 'hooks', message })
      : showForm(visit, integration, message);
  }
}

function showForm({ deps, base }: MemberVisit, integration: Integration, error?: string): View {
  const { id, type, hasToken } = integration;
  const name = integrationName(integration);
  const provider = providerNames[type];
  const path = `${base}/integrations/${id}`;
  const title = hasToken ? 'Replace the token' : 'Give it a token';
  return view(
    title,
    <>
      <p class="crumbs">
        <a href={`${base}/integrations`}>Integrations</a> / <a href={path}>{name}</a>
      </p>
      <h1>{title}</h1>
      <p class="lede">
        {hasToken
          ? 'The new one is used from then on. If it may not do all that is needed, it is refused, and the present one stays.'
          : `From then on Tidings keeps the webhooks at ${provider}: those that were set up by hand are taken over, those that are missing are made.`}
      </p>
      <form method="post" action={`${path}/token`} class="stack" data-once>
        <TokenField type={type} deps={deps} error={error} autoFocus />
        <button type="submit" class="button go" data-busy={`Asking ${provider}…`}>
          {title}
        </button>
      </form>
    </>,
    { section: 'integrations', ...(error === undefined ? {} : { status: 400 }) },
  );
}
