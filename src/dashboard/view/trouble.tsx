/** @jsxRuntime automatic @jsxImportSource preact */
/** What went wrong, and the way back. */
export function Trouble({ status, message }: { status: number; message: string }) {
  return (
    <>
      <h1>{status === 404 ? 'Nothing here' : 'That did not work'}</h1>
      <p class="lede">{message}</p>
      <p>
        <a class="button" href="/dashboard">
          To the dashboard
        </a>
      </p>
    </>
  );
}
