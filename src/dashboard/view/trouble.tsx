import type { ComponentChildren } from 'preact';
import type { AppError } from '../../lib/app-error.ts';
import type { View } from './document.tsx';
import { Form, Hidden } from './form.tsx';
import { Drawing } from './list.tsx';

// Pages in place of one that cannot be shown. Each is about the failure alone, so its title needs no prefix.

const troubleView = (
  title: string,
  body: ComponentChildren,
  more: Pick<View, 'status' | 'headers'>,
): View => ({
  kind: 'view',
  title,
  body: (
    <>
      {more.status === 404 && <Drawing name="search" />}
      <h1>{title}</h1>
      {body}
    </>
  ),
  ...more,
});

export function troublePage(status: number, message: string, headers: View['headers'] = {}): View {
  return troubleView(
    status === 404 ? 'Not found' : 'Something went wrong',
    <>
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
        <Form to={path} button="Send form again" layout="">
          <p>Your text is not lost: {elsewhere}, come back here, and send it again.</p>
          <Hidden values={form} />
        </Form>
      )}
    </>,
    { status: 401 },
  );
}
