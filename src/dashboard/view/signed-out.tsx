/** @jsxRuntime automatic @jsxImportSource preact */

/** Fields that are not written into a page, even to be sent again. */
const SECRET = new Set(['password', 'current', 'apiToken']);

/** For a form that came after its session had ended: nothing is done yet, and nothing that was typed is lost. */
export function SignedOut({ path, form }: { path: string; form: URLSearchParams }) {
  const fields = [...form];
  const isKept = !fields.some(([name]) => SECRET.has(name));
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
