/** @jsxRuntime automatic @jsxImportSource preact */
import type { Hook } from '../../../integrations/words.ts';
import { When } from '../../view/elements.tsx';

/** Whether the provider's webhook is as it should be. Null: a person set it up. */
export function HookState({ hook, now }: { hook: Hook | null; now: Date }) {
  if (hook === null) return <span class="dim">Set up by hand</span>;
  const { problem, remoteId, hasPresentSecret, retryAt } = hook;
  if (problem !== null) {
    const isAhead = retryAt !== null && retryAt > now.getTime();
    return (
      <>
        <span class="tag failed">Problem</span>
        <div class="reason">{problem}</div>
        <div class="dim">
          Next retry {isAhead ? <When at={new Date(retryAt).toISOString()} now={now} /> : 'in a moment'}.
        </div>
      </>
    );
  }
  if (remoteId !== null && hasPresentSecret) return <span class="tag active">OK</span>;
  return (
    <>
      <span class="tag soon">Waiting</span>
      <div class="dim">
        {remoteId === null ? 'Tidings has not created it yet.' : 'It does not have the current secret yet.'}
      </div>
    </>
  );
}
