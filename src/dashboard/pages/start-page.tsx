/** @jsxRuntime automatic @jsxImportSource preact */
import type { MemberVisit } from '../page.ts';
import type { Progress } from './start.tsx';
import { type Step, stepsOf } from './start-steps.tsx';

export function StartPage({ visit, progress }: { visit: MemberVisit; progress: Progress }) {
  const steps = stepsOf(visit, progress);
  const next = steps.findIndex(({ isDone }) => isDone === false);
  const isComplete = steps.every(({ isDone }) => isDone === true);
  return (
    <>
      <h1>{isComplete ? 'All set' : 'First steps'}</h1>
      <p class="lede">
        {isComplete
          ? 'Your site can read, and what your team ships arrives here. There is nothing left to set up.'
          : 'Two minutes from here to a first call of your site, and to a first draft.'}
      </p>
      <ol class="steps">
        {steps.map((step, index) => (
          <StepItem key={step.title} step={step} isNext={index === next} />
        ))}
      </ol>
      {isComplete ? (
        <p class="after">
          <a class="button go" href={`${visit.base}/posts`}>
            To the posts
          </a>
        </p>
      ) : null}
    </>
  );
}

function StepItem({ step: { title, isDone, todo, done }, isNext }: { step: Step; isNext: boolean }) {
  const state = isDone === true ? 'done' : isNext ? 'next' : 'later';
  return (
    <li class={`card pad step ${state}`} aria-current={isNext ? 'step' : undefined}>
      <h2>
        {title}
        {isDone === true ? <span class="tag active">Done</span> : null}
      </h2>
      {isDone === null ? (
        <p class="dim">Whether this is done cannot be told: Unkey, which keeps the keys, does not answer.</p>
      ) : null}
      {isDone === true ? done : todo}
    </li>
  );
}
