/** @jsxRuntime automatic @jsxImportSource preact */
import type { Session } from '../../users/model.ts';
import { Action } from './form.tsx';
import { When } from './when.tsx';

/** A person's sessions, each with a button that ends it. `path`: where the forms of the page begin. */
export function Sessions({
  path,
  sessions,
  current,
  now,
}: {
  path: string;
  sessions: readonly Session[];
  /** The hash of this browser's session. */
  current: string;
  now: Date;
}) {
  return (
    <>
      <h2 id="sessions">Sessions</h2>
      <p>
        A session ends 30 days after its last use, and 90 days after the sign-in at the latest. If you don't
        recognize one, sign out everywhere and change your password.
      </p>
      <ul class="card rows">
        {sessions.map((session) => (
          <li key={session.hash} data-session>
            <div class="grow">
              <strong title={session.userAgent ?? undefined}>{browserName(session.userAgent)}</strong>
              {session.hash === current ? <span class="tag active">This browser</span> : null}
              {session.address === null ? null : <div class="hint">{session.address}</div>}
              <div class="hint">
                Last used <When at={new Date(session.lastUsedAt).toISOString()} now={now} />
              </div>
              <div class="hint">
                Signed in <When at={session.createdAt} now={now} />
              </div>
            </div>
            <Action to={`${path}/sessions/end`} label="Sign out" fields={{ session: session.hash }} />
          </li>
        ))}
      </ul>
      <div class="after">
        <Action to={`${path}/sign-out-everywhere`} label="Sign out everywhere" kind="bad" />
      </div>
    </>
  );
}

// The first match counts: most browsers also name those that they descend from.
const browsers: readonly [name: string, pattern: RegExp][] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /(?:Chrome|CriOS)\//],
  ['Safari', /\bSafari\//],
];
const systems: readonly [name: string, pattern: RegExp][] = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['Linux', /\bLinux\b/],
];

/** A browser in words, such as "Firefox on Linux". */
function browserName(userAgent: string | null): string {
  const nameIn = (names: typeof browsers) => names.find(([, pattern]) => pattern.test(userAgent ?? ''))?.[0];
  const system = nameIn(systems);
  return `${nameIn(browsers) ?? 'Unknown browser'}${system === undefined ? '' : ` on ${system}`}`;
}
