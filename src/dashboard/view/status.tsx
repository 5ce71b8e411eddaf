/** @jsxRuntime automatic @jsxImportSource preact */

/** A status as a word in its colour. */
export function Status({ status, more = '' }: { status: string; more?: string }) {
  return (
    <span class={`tag ${status}`}>
      {status.charAt(0).toUpperCase()}
      {status.slice(1)}
      {more}
    </span>
  );
}
