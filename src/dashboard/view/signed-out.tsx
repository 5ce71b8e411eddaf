/** @jsxRuntime automatic @jsxImportSource preact */

/** Fields that are not written into a page, even to be sent again. */
const SECRET = new Set(['password', 'current', 'apiToken']);

/**
 * For a form that came after its session had ended. The page carries the form, so that the text is not lost. `form` is
 * null when it is too large to be read without a session.
 */
export function SignedOut({ path, form }: { path: string; form: URLSearchParams | null }) {
  const fields = [...(form ?? [])];
  const isKept = form !== null && !fields.some(([name]) => SECRET.has(name));
  return (
    <>
      <h1>You are signed out</h1>
      <p class="lede">Your session has ended, so what you sent was not done.</p>
      {isKept ? (
        <>
          <p>
            Nothing that you typed is lost:{' '}
            <a href="/dashboard/~/sign-in" target="_blank" rel="noopener">
              sign in in another tab
            </a>
            , come back here, and send it again.
          </p>
          <form method="post" action={path}>
            {fields.map(([name, value]) => (
              <input type="hidden" name={name} value={value} />
            ))}
            <button type="submit" class="button go">
              Send it again
            </button>
          </form>
        </>
      ) : form === null ? (
        <p>
          Your text is too long to keep on this page, but your browser still has it:{' '}
          <a href="/dashboard/~/sign-in" target="_blank" rel="noopener">
            sign in in another tab
          </a>
          , come back here, and reload this page. When your browser asks, confirm that it sends the form
          again.
        </p>
      ) : (
        <p>
          <a class="button go" href="/dashboard/~/sign-in">
            Sign in
          </a>
        </p>
      )}
    </>
  );
}
