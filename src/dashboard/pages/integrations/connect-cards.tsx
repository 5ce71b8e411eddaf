/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import { type IntegrationType, providerNames } from '../../../integrations/model.ts';
import { newMark } from '../../once.ts';
import type { MemberVisit } from '../../page.ts';
import { Field } from '../../view/form.tsx';
import { TokenField } from './token-field.tsx';

/** What is wrong with one of the fields that connect. */
export interface ConnectProblem {
  field: 'repository' | 'github-token' | 'linear-token';
  message: string;
}

/** The ways to connect: with a token, or by hand. */
export function ConnectCards({
  visit,
  problem,
  isFirst,
}: {
  visit: MemberVisit;
  problem: ConnectProblem | undefined;
  isFirst: boolean;
}) {
  const errorOf = (field: ConnectProblem['field']) =>
    problem?.field === field ? problem.message : undefined;
  return (
    <div class="pair">
      <Card type="github" visit={visit} error={errorOf('github-token')} isFirst={isFirst}>
        <ByHand type="github" visit={visit} isOpen={problem?.field === 'repository'}>
          <Field
            label="Repository"
            name="repository"
            value={visit.form.get('repository') ?? ''}
            hint="As OWNER/NAME, such as acme/rocket."
            error={errorOf('repository') ?? null}
          />
        </ByHand>
      </Card>
      <Card type="linear" visit={visit} error={errorOf('linear-token')} isFirst={false}>
        <ByHand type="linear" visit={visit} isOpen={false}>
          <p class="hint">
            One integration takes what a whole workspace ships. Its teams are chosen by triggers.
          </p>
        </ByHand>
      </Card>
    </div>
  );
}

function Card({
  type,
  visit: { base, deps },
  error,
  isFirst,
  children,
}: {
  type: IntegrationType;
  visit: MemberVisit;
  error: string | undefined;
  isFirst: boolean;
  children: ComponentChildren;
}) {
  return (
    <section class="card pad" aria-labelledby={`connect-${type}`}>
      <h2 id={`connect-${type}`} class="flat">
        Connect {providerNames[type]}
      </h2>
      <form method="post" action={`${base}/integrations/${type}/choose`} class="stack" data-once>
        <TokenField type={type} deps={deps} error={error} />
        <button
          type="submit"
          class={isFirst ? 'button go' : 'button'}
          data-busy={`Asking ${providerNames[type]}…`}
        >
          {type === 'github' ? 'Choose repositories' : 'Choose teams'}
        </button>
      </form>
      {children}
    </section>
  );
}

/** Without a token: a person sets the webhook up. */
function ByHand({
  type,
  visit: { base },
  isOpen,
  children,
}: {
  type: IntegrationType;
  visit: MemberVisit;
  isOpen: boolean;
  children: ComponentChildren;
}) {
  return (
    <details class="more" open={isOpen}>
      <summary>By hand, without a token</summary>
      <form method="post" action={`${base}/integrations/${type}`} class="stack" data-once>
        <input type="hidden" name="mark" value={newMark()} />
        {children}
        <button type="submit" class="button">
          Connect {providerNames[type]}
        </button>
      </form>
    </details>
  );
}
