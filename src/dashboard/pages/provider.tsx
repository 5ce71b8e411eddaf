import { Type } from '@sinclair/typebox';
import { AppError } from '../../lib/app-error.ts';
import { addressGroup } from '../../lib/public-fetch.ts';
import { passwordsWork } from '../../people/deps.ts';
import {
  type Attempt,
  describeCause,
  type IdentityProvider,
  ProviderFailure,
} from '../../people/oidc/provider.ts';
import {
  arriveToLink,
  CALLBACK,
  claimAttempt,
  confirmIdentity,
  endProviderSessions,
  enter,
  linkIdentity,
  mustConfirm,
  type Newcomer,
} from '../../people/oidc/sign-in.ts';
import { failure } from '../../people/permission.ts';
import { NoFields } from '../fields.ts';
import { data, get, type Page, post, redirect, type Visit, view, wayBack } from '../page.ts';
import { endFlow, openFlow, sealFlow } from '../sealed.ts';
import { postForm } from '../submission.ts';
import { FormOf } from '../view/form.tsx';
import { countRefusal, guarded, PROVIDER, showSignIn } from './sign-in.tsx';

// Signing in through the team's identity provider, in steps: to the provider, back with its answer, and for an address that has
// an account, its password. The state between them is in a sealed cookie, so no stranger fills the database.

const CONFIRM = `${PROVIDER}/confirm`;
const ACCOUNT = '/dashboard/~/account';

/** How many memberships wait for a confirmation, and how long the address of a page may be that a sign-in leads back to. */
const MAX_GRANTS = 20;
const MAX_TO_LENGTH = 500;

interface SignIn {
  attempt: Attempt;
  to: string;
  invitation: string | null;
  /** The person whose account it is for. Null: signing in. */
  linkTo: string | null;
}

interface Confirmation {
  newcomer: Newcomer;
  /** The account's. */
  email: string;
  to: string;
  linkTo: string | null;
}

const ConfirmForm = Type.Object({
  password: Type.String({
    label: 'Password',
    subject: 'The password',
    inputType: 'password',
    autoComplete: 'current-password',
  }),
});

export const routes: readonly Page[] = [
  get(PROVIDER, 'anyone', (visit) => refusedAt(visit, () => begin(visit, null))),

  get(`${PROVIDER}/link`, 'user', (visit) => begin(visit, visit.user.id)),

  get(CALLBACK, 'anyone', async (visit) => {
    const flow = openFlow(visit, 'provider', isAnswered(visit));
    if (flow?.linkTo != null) return arriveAtAccount(visit, flow);
    return refusedAt(visit, () => arrive(visit, flow));
  }),

  get(CONFIRM, 'anyone', (visit) => showConfirmation(visit)),

  postForm(CONFIRM, 'anyone', ConfirmForm, showConfirmation, async (visit, { password }) => {
    const provider = requireProvider(visit);
    const { newcomer, email, linkTo, to } = requireConfirmation(visit);
    const about = { source: addressGroup(visit.clientAddress), browser: visit.knownBrowser };
    const input = guarded(visit, { email, password, ...about, hasSession: linkTo !== null });
    try {
      const session = await confirmIdentity(visit.deps, provider, newcomer, input);
      const back = linkTo === null ? redirect(wayBack(to), describeLinked(provider)) : linked(provider);
      return { ...back, flow: endFlow(visit, 'confirmation'), ...(session !== null && { session }) };
    } catch (error) {
      const refusal = await countRefusal(visit, error, true);
      if (refusal.code !== 'wrong_credentials') throw refusal;
      throw new AppError(400, 'The password is wrong.', { fields: { password: 'is wrong' } });
    }
  }),

  postForm(`${CONFIRM}/link`, 'user', NoFields, showConfirmation, async (visit) => {
    const provider = requireProvider(visit);
    const { newcomer } = requireConfirmation(visit);
    await linkIdentity(visit.deps, provider, newcomer, visit);
    return { ...linked(provider), flow: endFlow(visit, 'confirmation') };
  }),

  // The provider's server calls it, without a session.
  post(`${PROVIDER}/logout`, 'anyone', async (visit) => {
    const provider = requireProvider(visit);
    try {
      const client = await provider.client();
      await endProviderSessions(
        visit.deps,
        await client.readLogoutToken(visit.form.get('logout_token') ?? ''),
      );
      return data({});
    } catch (error) {
      if (!(error instanceof AppError) || !error.isRefusal) throw error;
      logFailure(visit, error, 'refused a sign-out of the identity provider');
      const status = error.code === 'provider_unavailable' ? 503 : 400;
      return data({ error: 'invalid_request', error_description: 'The logout token is not valid.' }, status);
    }
  }),
];

function requireProvider({ deps }: Visit): IdentityProvider {
  if (deps.identityProvider === undefined) throw new AppError(404, 'Page not found.');
  return deps.identityProvider;
}

/** Shows the sign-in page when the provider or a rule refuses. */
async function refusedAt<Answer>(visit: Visit, work: () => Promise<Answer>) {
  requireProvider(visit);
  try {
    return await work();
  } catch (error) {
    logFailure(visit, error, 'a sign-in through the identity provider failed');
    // 403: the provider has signed in the person, and its answers are bounded.
    const isBounded = error instanceof AppError && error.status === 403;
    return showSignIn(visit, await countRefusal(visit, error, isBounded), true);
  }
}

function logFailure({ deps }: Visit, error: unknown, message: string): void {
  if (error instanceof ProviderFailure) {
    deps.log.warn({ code: error.code, cause: describeCause(error.cause) }, message);
  }
}

const describeLinked = ({ name }: IdentityProvider) => `Linked. From now on you can sign in with ${name}.`;
const linked = (provider: IdentityProvider) => redirect(ACCOUNT, describeLinked(provider));

async function begin(visit: Visit, linkTo: string | null) {
  const client = await requireProvider(visit).client();
  const { searchParams } = visit.url;
  const attempt = client.newAttempt();
  const to = wayBack(searchParams.get('to') ?? '');
  const flow: SignIn = {
    attempt,
    to: to.length > MAX_TO_LENGTH ? '/dashboard' : to,
    invitation: searchParams.get('invitation')?.slice(0, 200) ?? null,
    linkTo,
  };
  const url = await client.signInUrl(attempt, visit.deps.publicUrl() + CALLBACK);
  return { ...redirect(url), flow: sealFlow(visit, 'provider', flow) };
}

/** The person whom the provider has signed in, by its answer to this browser. Each attempt works once. */
async function readAnswer({ deps, guard, url, clientAddress }: Visit, flow: SignIn | null) {
  if (flow === null) throw failure('flow_lost');
  await guard.countReturn(addressGroup(clientAddress));
  await claimAttempt(deps, flow.attempt.state);
  const answer = new URL(deps.publicUrl() + CALLBACK);
  answer.search = url.search;
  const client = await deps.identityProvider?.client();
  if (client === undefined) throw new AppError(404, 'Page not found.');
  return client.finish(answer, flow.attempt);
}

/** Each tab has an attempt of its own. */
const isAnswered =
  ({ url }: Visit) =>
  ({ attempt }: SignIn) =>
    attempt.state === url.searchParams.get('state');

async function arrive(visit: Visit, flow: SignIn | null) {
  const provider = requireProvider(visit);
  const arrival = await readAnswer(visit, flow);
  const { to = '', invitation = null } = flow ?? {};
  const outcome = await enter(visit.deps, provider, arrival, invitation);
  if (outcome.kind === 'confirm') return askToConfirm(visit, { ...outcome, to, linkTo: null });
  const { session, organizationId } = outcome;
  const next = organizationId === null ? to : `/dashboard/${organizationId}`;
  return { ...redirect(next), session, flow: endFlow(visit, 'provider', isAnswered(visit)) };
}

async function arriveAtAccount(visit: Visit, flow: SignIn) {
  const provider = requireProvider(visit);
  const { user } = visit;
  if (user?.id !== flow.linkTo || user === null) throw failure('flow_lost');
  try {
    const newcomer = await arriveToLink(visit.deps, provider, await readAnswer(visit, flow));
    return askToConfirm(visit, { newcomer, email: user.email, to: ACCOUNT, linkTo: user.id });
  } catch (error) {
    logFailure(visit, error, 'an account of the identity provider could not be linked');
    throw error;
  }
}

function askToConfirm(visit: Visit, { newcomer, email, to, linkTo }: Confirmation) {
  // A cookie holds 4 KB. The next sign-in applies all of them.
  const grants = newcomer.grants.slice(0, MAX_GRANTS);
  const flow: Confirmation = { newcomer: { ...newcomer, grants }, email, to, linkTo };
  return { ...redirect(CONFIRM), flow: sealFlow(visit, 'confirmation', flow) };
}

function requireConfirmation(visit: Visit): Confirmation {
  const flow = openFlow<Confirmation>(visit, 'confirmation');
  if (flow === null || (flow.linkTo !== null && flow.linkTo !== visit.user?.id)) throw failure('flow_lost');
  return flow;
}

async function showConfirmation(visit: Visit, error?: AppError) {
  const { deps, user } = visit;
  const { name } = requireProvider(visit);
  const { newcomer, email, linkTo } = requireConfirmation(visit);
  const hasPassword = linkTo === null || user === null || (await mustConfirm(deps, user));
  const account = (
    <>
      <bdi>{newcomer.name}</bdi> of {name}
    </>
  );
  return view(
    {
      title: 'Confirm it is you',
      isSheet: true,
      facts: hasPassword ? (
        <>
          Tidings already has an account for {email}. Enter its password once to link it with {account}.
        </>
      ) : (
        <>
          Link your account {email} with {account}?
        </>
      ),
      error,
    },
    hasPassword ? (
      <FormOf
        schema={ConfirmForm}
        {...{ error, to: CONFIRM, button: 'Link and continue', autoFocus: true }}
      />
    ) : (
      <FormOf schema={NoFields} {...{ error, to: `${CONFIRM}/link`, button: 'Link' }} />
    ),
    hasPassword && (
      <p class="hint">
        {passwordsWork(deps)
          ? 'No password, or forgotten? Ask an owner of your organization for a reset link, then start again.'
          : 'No password, or forgotten? Ask the administrator of this server for a link that signs you in. Then link it under Your account.'}
      </p>
    ),
  );
}
