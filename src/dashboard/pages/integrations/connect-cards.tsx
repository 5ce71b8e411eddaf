/** @jsxRuntime automatic @jsxImportSource preact */
import { type IntegrationType, providers } from '../../../providers/index.ts';
import type { Provider } from '../../../providers/provider.ts';
import { newMark } from '../../once.ts';
import type { MemberVisit } from '../../page.ts';
import { Field } from '../../view/form.tsx';
import { TokenField } from './token-field.tsx';

/** The error of a field that connects a provider. */
export interface ConnectProblem {
  type: IntegrationType;
  field: 'repository' | 'token';
  message: string;
}

interface CardProps {
  visit: MemberVisit;
  provider: Provider<IntegrationType>;
  problem: ConnectProblem | undefined;
}

/** The ways to connect each provider: with a token, or by hand. */
export function ConnectCards({
  visit,
  problem,
  isFirst,
}: Pick<CardProps, 'visit' | 'problem'> & { isFirst: boolean }) {
  return (
    <div class="pair">
      {providers.map((provider, index) => (
        <Card
          provider={provider}
          visit={visit}
          problem={problem?.type === provider.id ? problem : undefined}
          isFirst={isFirst && index === 0}
        />
      ))}
    </div>
  );
}

function Card({ visit, provider, problem, isFirst }: CardProps & { isFirst: boolean }) {
  const { id: type, name, api, words } = provider;
  const { base, deps } = visit;
  return (
    <section class="card pad" aria-labelledby={`connect-${type}`}>
      <h2 id={`connect-${type}`} class="flat">
        Connect {name}
      </h2>
      {api === null ? (
        <ByHand visit={visit} provider={provider} problem={problem} />
      ) : (
        <>
          <form method="post" action={`${base}/integrations/${type}/choose`} class="stack" data-once>
            <TokenField
              type={type}
              deps={deps}
              error={problem?.field === 'token' ? problem.message : undefined}
            />
            <button type="submit" class={isFirst ? 'button go' : 'button'} data-busy={`Asking ${name}…`}>
              Choose {words.place.many}
            </button>
          </form>
          <details class="more" open={problem?.field === 'repository'}>
            <summary>By hand, without a token</summary>
            <ByHand visit={visit} provider={provider} problem={problem} />
          </details>
        </>
      )}
    </section>
  );
}

/** Without a token: a person sets the webhook up. */
function ByHand({ visit: { base, form }, provider, problem }: CardProps) {
  const { id: type, name, hasRepositories, words } = provider;
  const isWrong = problem?.field === 'repository';
  return (
    <form method="post" action={`${base}/integrations/${type}`} class="stack" data-once>
      <input type="hidden" name="mark" value={newMark()} />
      {hasRepositories ? (
        <Field
          label="Repository"
          name="repository"
          id={`field-repository-${type}`}
          value={isWrong ? (form.get('repository') ?? '') : ''}
          hint="As OWNER/NAME, such as acme/rocket."
          error={isWrong ? problem.message : null}
        />
      ) : (
        <p class="hint">
          One integration takes what a whole workspace ships. Its {words.place.many} are chosen by triggers.
        </p>
      )}
      <button type="submit" class="button">
        Connect {name}
      </button>
    </form>
  );
}
