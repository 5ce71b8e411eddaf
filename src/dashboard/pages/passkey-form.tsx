import type { ComponentChildren } from 'preact';
import { scriptAsset } from '../../http/look/assets.ts';
import { requestOptions } from '../../people/passkeys/service.ts';
import type { FirstFactor, Pending } from '../../people/sessions.ts';
import script from '../client/passkeys.client.js' with { type: 'text' };
import { type Answer, redirect, type Visit, wayBack } from '../page.ts';
import { FLOW_MS, seal, sealFlow } from '../sealed.ts';
import { useVisit } from '../view/elements.tsx';
import { Hidden, Mark } from '../view/form.tsx';

export const SECOND = '/dashboard/~/second-factor';
export const ALONE = '/dashboard/~/passkeys/sign-in';

export const passkeyScript = scriptAsset('passkeys.js', script);

/** The step between both factors. */
export interface Second {
  pending: Pending;
  to: string;
}

/** A session, or the question for the second factor. */
export function afterFirstFactor(visit: Visit, first: FirstFactor, to: string, done?: string): Answer {
  if ('session' in first) return { ...redirect(wayBack(to), done), session: first.session };
  return { ...redirect(SECOND), flow: sealFlow(visit, 'second', { pending: first.pending, to }) };
}

/** A challenge works in the step, and for the session, that its form was made for. */
export const contextOf = {
  alone: 'passkey alone',
  second: ({ userId, proof }: Pending) => `passkey second ${userId} ${proof}`,
  confirm: ({ sessionHash }: Pick<Visit, 'sessionHash'>) => `passkey confirm ${sessionHash}`,
  added: ({ sessionHash }: Pick<Visit, 'sessionHash'>) => `passkey added ${sessionHash}`,
};

/** A form that the browser answers with a passkey. The script shows it. */
export function PasskeyForm(props: {
  to: string;
  button: string;
  kind?: 'go' | '';
  context: string;
  options: (challenge: string) => object;
  hidden?: Record<string, string>;
  isOnce?: boolean;
  children?: ComponentChildren;
}) {
  const { to, button, kind = 'go', context, options, hidden = {}, isOnce = false, children } = props;
  const { deps } = useVisit();
  const challenge = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url');
  const sealed = seal(deps, context, challenge, FLOW_MS);
  return (
    <>
      <form
        method="post"
        action={to}
        class="stack"
        hidden
        data-once={isOnce ? '' : undefined}
        data-passkey={JSON.stringify(options(challenge))}
      >
        <Hidden values={{ ...hidden, challenge: sealed, credential: '' }} />
        {isOnce && <Mark />}
        {children}
        <p class="error" role="alert" data-problem-text hidden />
        <button type="submit" class={`button ${kind}`.trim()}>
          {button}
        </button>
      </form>
      <p class="note" data-no-script>
        Passkeys need JavaScript. Turn it on in this browser to use one.
      </p>
    </>
  );
}

export function SignInByPasskey({ to }: { to: string }) {
  const { deps } = useVisit();
  return (
    <PasskeyForm
      {...{ to: ALONE, button: 'Sign in with a passkey', kind: '', context: contextOf.alone, hidden: { to } }}
      options={(challenge) => requestOptions(deps, challenge, [])}
    />
  );
}
