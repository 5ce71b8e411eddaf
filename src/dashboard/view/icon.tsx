import type { VNode } from 'preact';
import type { AppError } from '../../lib/app-error.ts';
import type { View } from './document.tsx';
import { Form, Hidden } from './form.tsx';
import { iconShapes } from './icon-shapes.ts';

export type IconName = keyof typeof iconShapes;

/** An icon beside a word, or in a button with an `aria-label`: screen readers skip it. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      class="icon"
      viewBox="0 0 24 24"
      aria-hidden="true"
      // Shapes of our own module.
      dangerouslySetInnerHTML={{ __html: iconShapes[name] }}
    />
  );
}

/** The first letters of a name or an email address, in a circle, or a square for an organization. */
export function Avatar({ name, isSquare = false }: { name: string; isSquare?: boolean }) {
  const words = name
    .replace(/@.*/, '')
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
  const letters = words.slice(0, 2).map((word) => [...word][0]?.toUpperCase());
  return (
    <span class={isSquare ? 'avatar square' : 'avatar'} aria-hidden="true">
      {letters.join('') || '?'}
    </span>
  );
}

/** Line drawings for lists without entries. */
const drawings = {
  posts: [
    <path d="M14 12h56v48a6 6 0 0 1-6 6H20a6 6 0 0 1-6-6zM70 26h12v34a6 6 0 0 1-6 6H64" />,
    <path d="M24 38h16v16H24zM48 38h12M48 46h12M48 54h12" />,
    <path class="spot" d="M24 24h36" />,
  ],
  deliveries: [
    <path d="M12 40h20l5 9h22l5-9h20v18a6 6 0 0 1-6 6H18a6 6 0 0 1-6-6zM12 40l10-18h8M84 40 74 22h-8" />,
    <path class="spot" d="M48 8v26M39 25l9 9 9-9" />,
  ],
  integrations: [
    <path d="M8 44h20M28 32v24h8a12 12 0 0 0 0-24zM46 38h8M46 50h8M88 44H74M74 30v28h-6a14 14 0 0 1 0-28z" />,
    <path class="spot" d="M56 20l3-8M66 20l7-6M48 18l-3-8" />,
  ],
  images: [
    <path d="M14 12h62v46a6 6 0 0 1-6 6H20a6 6 0 0 1-6-6zM14 54l18-18 14 14M40 44l12-12 24 24" />,
    <path class="spot" d="M40 25a5 5 0 1 1-10 0 5 5 0 0 1 10 0" />,
  ],
  search: [
    <path d="M14 16h40M14 28h26M14 40h20M14 52h26" />,
    <path class="spot" d="M74 40a14 14 0 1 1-28 0 14 14 0 0 1 28 0zM70 50l14 14" />,
  ],
};

export type DrawingName = keyof typeof drawings;

export function Drawing({ name }: { name: DrawingName }) {
  return (
    <svg class="drawing" viewBox="0 0 96 72" aria-hidden="true">
      {drawings[name]}
    </svg>
  );
}

// Pages in place of one that cannot be shown.

/** The page is about the failure alone, so its title needs no prefix. */
function troubleView(title: string, body: VNode, more: Pick<View, 'status' | 'headers'>): View {
  return { kind: 'view', title, body, ...more };
}

export function troublePage(status: number, message: string, headers: View['headers'] = {}): View {
  const isMissing = status === 404;
  return troubleView(
    isMissing ? 'Not found' : 'Something went wrong',
    <>
      {isMissing ? <Drawing name="search" /> : null}
      <h1>{isMissing ? 'Not found' : 'Something went wrong'}</h1>
      <p class="lede">{message}</p>
      <p>
        <a class="button" href="/dashboard">
          Open dashboard
        </a>
      </p>
    </>,
    { status, headers },
  );
}

/** While the database is away. A page that was asked for tries again by itself; a form that was sent must not. */
export function databaseAwayPage(method: string, { status, headers }: AppError): View {
  const isForm = method === 'POST';
  const seconds = headers['retry-after'] ?? '5';
  return troubleView(
    'Database unavailable',
    <>
      <h1>Database unavailable</h1>
      <p class="lede">
        Tidings can't reach the database right now. Saved data is safe.
        {isForm && ' Your last change may not be saved.'}
      </p>
      <p class="dim">
        {isForm
          ? 'Reload this page in a moment. When your browser asks, confirm that it sends the form again.'
          : `This page tries again every ${seconds} seconds.`}
      </p>
    </>,
    { status, headers: isForm ? headers : { ...headers, refresh: seconds } },
  );
}

/** Fields that no page repeats, even to send a form again. */
const SECRETS = new Set(['password', 'current', 'apiToken']);

/** For a form whose session had ended. The page carries its fields; null: it is too large to read without a session. */
export function signedOutPage(path: string, form: URLSearchParams | null): View {
  const isSecret = form !== null && [...form.keys()].some((name) => SECRETS.has(name));
  const elsewhere = (
    <a href="/dashboard/~/sign-in" target="_blank" rel="noopener">
      sign in in another tab
    </a>
  );
  return troubleView(
    'You are signed out',
    <>
      <h1>You are signed out</h1>
      <p class="lede">Your session has ended, so Tidings did not process the form.</p>
      {form === null ? (
        <p>
          Your text is too long to keep on this page, but your browser still has it: {elsewhere}, come back
          here, and reload this page. When your browser asks, confirm that it sends the form again.
        </p>
      ) : isSecret ? (
        <p>
          <a class="button go" href="/dashboard/~/sign-in">
            Sign in
          </a>
        </p>
      ) : (
        <Form to={path} problem={null} button="Send form again" layout="">
          <p>Your text is not lost: {elsewhere}, come back here, and send it again.</p>
          <Hidden values={[...form]} />
        </Form>
      )}
    </>,
    { status: 401 },
  );
}
