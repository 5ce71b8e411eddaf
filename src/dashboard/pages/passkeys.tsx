import { Type } from '@sinclair/typebox';
import { requireStillAllowed } from '../../../db/checked.ts';
import { AppError } from '../../lib/app-error.ts';
import { addressGroup } from '../../lib/public-fetch.ts';
import { passwordsWork } from '../../people/deps.ts';
import {
  addPasskey,
  confirmSession,
  creationOptions,
  MAX_NAME_LENGTH,
  type Answer as PasskeyAnswer,
  passSecondFactor,
  removePasskey,
  replaceCodes,
  requestOptions,
  signInByPasskey,
} from '../../people/passkeys/service.ts';
import { countCodes, listPasskeys, type Passkey } from '../../people/passkeys/store.ts';
import { failure, SECOND_FACTOR } from '../../people/permission.ts';
import { formState, NoFields } from '../fields.ts';
import {
  type Answer,
  get,
  type Page,
  post,
  redirect,
  type UserVisit,
  type Visit,
  view,
  wayBack,
} from '../page.ts';
import { endFlow, openFlow, unseal } from '../sealed.ts';
import { postForm } from '../submission.ts';
import { counted, More, Section, ToCopy, useVisit, When } from '../view/elements.tsx';
import { Action, Danger, Field, FormError, FormOf } from '../view/form.tsx';
import { ALONE, contextOf, PasskeyForm, passkeyScript, SECOND, type Second } from './passkey-form.tsx';
import { countRefusal, SIGN_IN, showSignIn } from './sign-in.tsx';

// Passkeys: alone on the sign-in page, as the second factor after a password, and under "Your account".

const ACCOUNT = '/dashboard/~/account';
const CONFIRM = '/dashboard/~/passkeys/confirm';

const CodeForm = Type.Object({
  code: Type.String({
    label: 'Recovery code',
    subject: 'The recovery code',
    placeholder: 'xxxx-xxxx-xxxx-xxxx',
  }),
  to: Type.String(),
});

const NewPasskeyForm = Type.Object({
  name: Type.String({
    label: 'Name',
    minLength: 1,
    maxLength: MAX_NAME_LENGTH,
    pattern: '\\S',
    placeholder: 'Laptop',
    problem: `Enter a name of up to ${MAX_NAME_LENGTH} characters, such as Laptop.`,
  }),
});

export const routes: readonly Page[] = [
  get(SECOND, 'anyone', (visit) => showSecondFactor(visit)),

  post(SECOND, 'anyone', async (visit) => {
    const { deps, guard, clientAddress } = visit;
    const flow = requireSecond(visit);
    try {
      const given = readGiven(visit, contextOf.second(flow.pending));
      const by = { guard, source: addressGroup(clientAddress) };
      const session = await passSecondFactor(deps, flow.pending, given, by);
      return { ...redirect(wayBack(flow.to)), session, flow: endFlow(visit, 'second') };
    } catch (error) {
      const refusal = await countRefusal(visit, error, true);
      if (refusal.code === 'flow_lost') throw refusal;
      return showSecondFactor(visit, refusal);
    }
  }),

  post(ALONE, 'anyone', async (visit) => {
    const { deps, guard, clientAddress, form } = visit;
    try {
      if (!passwordsWork(deps)) throw failure('passwords_off');
      await guard.countReturn(addressGroup(clientAddress));
      const session = await signInByPasskey(deps, readAnswer(visit, contextOf.alone));
      return { ...redirect(wayBack(form.get('to') ?? '')), session };
    } catch (error) {
      return showSignIn(visit, await countRefusal(visit, error, false), true);
    }
  }),

  get(CONFIRM, 'user', (visit) => showConfirm(visit)),

  post(CONFIRM, 'user', async (visit) => {
    const { deps, user, sessionHash, guard, form } = visit;
    try {
      await guard.count(`second factor ${sessionHash}`);
      await requireStillAllowed(deps.db);
      await confirmSession(deps, user, sessionHash, readGiven(visit, contextOf.confirm(visit)));
      return redirect(wayBack(form.get('to') ?? ''));
    } catch (error) {
      if (!(error instanceof AppError) || ![400, 429].includes(error.status)) throw error;
      return showConfirm(visit, error);
    }
  }),

  postForm(
    `${ACCOUNT}/passkeys/codes`,
    'user',
    NoFields,
    (_, error) => Promise.reject(error),
    (visit) =>
      fresh(visit, async ({ deps, user, sessionHash }) =>
        showCodes(await replaceCodes(deps, user, sessionHash), 'New recovery codes'),
      ),
    () => redirect(ACCOUNT, 'Tidings already showed these codes. Create new ones if you need them.'),
  ),
];

/** The forms of passkeys. `again`: shows the account page with the error. */
export const passkeyForms = (again: (visit: UserVisit, error: AppError) => Promise<Answer>): Page[] => [
  postForm(`${ACCOUNT}/passkeys`, 'user', NewPasskeyForm, again, (visit, { name }) =>
    fresh(visit, async ({ deps, user, sessionHash }) => {
      const answer = readAnswer(visit, contextOf.added(visit));
      const codes = await addPasskey(deps, user, { ...answer, name, sessionHash });
      return codes === null ? redirect(ACCOUNT, 'Passkey added.') : showCodes(codes, 'Passkey added');
    }),
  ),

  post(`${ACCOUNT}/passkeys/remove`, 'user', (visit) =>
    fresh(visit, async ({ deps, user, sessionHash, form }) => {
      await removePasskey(deps, user, form.get('id') ?? '', sessionHash);
      return redirect(ACCOUNT, 'Passkey removed.');
    }).catch((error) => {
      if (error instanceof AppError && error.code === 'last_passkey') return again(visit, error);
      throw error;
    }),
  ),
];

/** Asks for a passkey before a change that needs one, or when the last one was long ago. */
export async function fresh(visit: UserVisit, work: (visit: UserVisit) => Promise<Answer>): Promise<Answer> {
  try {
    return await work(visit);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code } = error;
    const passkeys = await visit.deps.db.read((tx) => listPasskeys(tx, visit.user.id));
    // Somebody without one adds one where an organization needs it.
    if (code !== SECOND_FACTOR && (code !== 'sign_in_again' || passkeys.length === 0)) throw error;
    return redirect(
      `${CONFIRM}?to=${encodeURIComponent(ACCOUNT)}`,
      'Confirm with a passkey, then try again.',
    );
  }
}

function requireSecond(visit: Visit): Second {
  const flow = openFlow<Second>(visit, 'second');
  if (flow === null) throw failure('flow_lost');
  return flow;
}

/** The challenge that a form was opened with. Throws `AppError` 400. */
function readAnswer({ deps, form }: Visit, context: string): PasskeyAnswer {
  const challenge = unseal<string>(deps, context, (form.get('challenge') ?? '').slice(0, 1_024));
  if (challenge === null) throw failure('passkey_late');
  return { challenge, credential: form.get('credential') ?? '' };
}

function readGiven(visit: Visit, context: string): PasskeyAnswer | { code: string } {
  const code = visit.form.get('code');
  return code === null ? readAnswer(visit, context) : { code: code.slice(0, 100) };
}

/** A passkey, or in its place a recovery code. */
function Factors(props: {
  to: string;
  back: string;
  context: string;
  passkeys: readonly Passkey[];
  error: AppError | undefined;
}) {
  const { to, back, context, passkeys, error } = props;
  const { deps } = useVisit();
  const isOfCode = error?.code === 'wrong_code';
  return (
    <>
      <FormError error={isOfCode ? null : error?.message} />
      <PasskeyForm
        {...{ to, button: 'Use a passkey', context, hidden: { to: back } }}
        options={(challenge) => requestOptions(deps, challenge, passkeys)}
      />
      <More label="Use a recovery code" isOpen={isOfCode}>
        <FormOf
          schema={CodeForm}
          hidden={{ to: back }}
          values={{}}
          {...{ error: isOfCode ? error : undefined, to, button: 'Use code', kind: '' }}
        />
      </More>
    </>
  );
}

async function showSecondFactor(visit: Visit, error?: AppError) {
  const { pending, to } = requireSecond(visit);
  const passkeys = await visit.deps.db.read((tx) => listPasskeys(tx, pending.userId));
  return view(
    {
      title: 'Second factor',
      isSheet: true,
      facts: `Use a passkey to sign in as ${pending.email}.`,
      scripts: [passkeyScript],
      error,
    },
    <Factors {...{ to: SECOND, back: to, context: contextOf.second(pending), passkeys, error }} />,
    <p class="hint">
      Lost your passkeys and recovery codes? Ask the administrator of this server to reset them.{' '}
      <a href={SIGN_IN}>Start again</a>
    </p>,
  );
}

async function showConfirm(visit: UserVisit, error?: AppError) {
  const { deps, user, form, url, memberships } = visit;
  const to = form.get('to') ?? url.searchParams.get('to') ?? '';
  const passkeys = await deps.db.read((tx) => listPasskeys(tx, user.id));
  const blocking = memberships.find(
    ({ isBlocked, organization }) => isBlocked && to.startsWith(`/dashboard/${organization.id}`),
  );
  const needs = blocking && `${blocking.organization.name} requires a second factor. `;
  if (passkeys.length === 0) {
    return view(
      { title: 'Add a passkey', isSheet: true, facts: `${needs ?? ''}Add a passkey to your account first.` },
      <p>
        <a class="button go" href={`${ACCOUNT}#passkeys`}>
          Open your account
        </a>
      </p>,
    );
  }
  return view(
    {
      title: 'Confirm it is you',
      isSheet: true,
      facts: `${needs ?? ''}Use a passkey to continue.`,
      scripts: [passkeyScript],
      error,
    },
    <Factors {...{ to: CONFIRM, back: to, context: contextOf.confirm(visit), passkeys, error }} />,
    <p class="after">
      <a href={ACCOUNT}>Your account</a>
    </p>,
  );
}

function showCodes(codes: readonly string[], title: string) {
  return view(
    {
      title,
      crumbs: [{ to: ACCOUNT, label: 'Your account' }],
      facts:
        'Each of these recovery codes signs you in once if you lose your passkeys. Keep them in a safe place: they are shown only now.',
    },
    <ToCopy text={codes.join('\n')} label="Copy codes" />,
    <p class="after">
      <a class="button" href={ACCOUNT}>
        Back to your account
      </a>
    </p>,
  );
}

/** Data for the section of the account page. */
export async function readPasskeys({ deps, user }: UserVisit) {
  return deps.db.read(async (tx) => ({
    passkeys: await listPasskeys(tx, user.id),
    codes: await countCodes(tx, user.id),
  }));
}

export function Passkeys({
  passkeys,
  codes,
  error,
}: {
  passkeys: readonly Passkey[];
  codes: number;
  error: AppError | undefined;
}) {
  const visit = useVisit();
  const { deps, user } = visit;
  const values = error === undefined ? {} : visit.form;
  const { fields, problem } = formState(NewPasskeyForm, values, error, { name: 'passkey-name' });
  return (
    <Section id="passkeys" title="Passkeys">
      <p>
        {passkeys.length === 0
          ? 'Sign in with the fingerprint, face or PIN of your device. A password alone no longer signs you in then.'
          : 'A passkey signs you in alone, and is the second factor after your password.'}
      </p>
      {passkeys.length > 0 && (
        <ul class="card rows">
          {passkeys.map(({ id, name, createdAt, lastUsedAt }) => (
            <li>
              <div class="grow">
                <strong>
                  <bdi>{name}</bdi>
                </strong>
                <div class="hint">
                  Added <When at={createdAt} />
                  {lastUsedAt !== null && (
                    <>
                      , last used <When at={lastUsedAt} />
                    </>
                  )}
                </div>
              </div>
              <Danger
                label="Remove"
                about={name}
                to={`${ACCOUNT}/passkeys/remove`}
                fields={{ id }}
                button="Remove passkey"
              >
                It no longer signs you in.
                {passkeys.length === 1 && ' It is the last one: your recovery codes stop working too.'}
              </Danger>
            </li>
          ))}
        </ul>
      )}
      <PasskeyForm
        {...{ to: `${ACCOUNT}/passkeys`, button: 'Add passkey', kind: '', context: contextOf.added(visit) }}
        options={(challenge) => creationOptions(deps, challenge, user, passkeys)}
      >
        <FormError error={problem} />
        <Field {...fields.name} />
      </PasskeyForm>
      {passkeys.length > 0 && (
        <>
          <p>
            {codes === 0
              ? 'You have no recovery codes.'
              : `You have ${counted(codes, 'recovery code')}, for when you lose your passkeys.`}
          </p>
          <Action to={`${ACCOUNT}/passkeys/codes`} label="Create new recovery codes" isOnce />
        </>
      )}
    </Section>
  );
}
