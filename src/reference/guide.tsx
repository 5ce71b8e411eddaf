/** @jsxRuntime automatic @jsxImportSource preact */
import { Section } from './layout.tsx';
import { CopyButton } from './samples/tabs.tsx';

// The rules that all endpoints of the content API share.

export const guides = {
  authentication: 'Authentication',
  pagination: 'Pagination',
  caching: 'Caching',
  errors: 'Errors and retries',
  limits: 'Rate limits',
} as const;

export function Guide() {
  return (
    <>
      <Section id="authentication" title={guides.authentication}>
        <p>
          Send an API key of the organization with every request under <code>/v1</code>. The key needs the
          permission <code>api.read</code>.
        </p>
        <Line id="authorization" text="Authorization: Bearer tdk_…" what="the header" />
        <p>
          Create keys in the dashboard under Settings, API keys. Tidings shows a key once. Use one key for
          each site and environment, and keep it on the server: everybody can read a key in a browser. To
          rotate a key, create another, switch to it, then delete the old one.
        </p>
      </Section>
      <Section id="pagination" title={guides.pagination}>
        <p>
          A list holds <code>limit</code> posts, 10 unless you choose 1 to 100. Follow{' '}
          <code>pagination.nextPage</code> until it is <code>null</code>. A page past the end is an empty list
          with status 200.
        </p>
      </Section>
      <Section id="caching" title={guides.caching}>
        <p>
          Each response has a strong <code>ETag</code>. Send it back in <code>If-None-Match</code>: Tidings
          responds with 304 and no body while the content is the same. <code>Cache-Control</code> is{' '}
          <code>private, no-cache</code>: keep the response, and revalidate it before each use.
        </p>
        <Line id="if-none-match" text={'If-None-Match: "1q3s7k0v2m8xz"'} what="the header" />
        <p>
          Responses from 1.4 KB up are compressed for clients that send <code>Accept-Encoding: gzip</code>.
          The gzip representation has its own <code>ETag</code>; <code>If-None-Match</code> accepts both.
        </p>
      </Section>
      <Section id="errors" title={guides.errors}>
        <p>
          An error is a JSON object with one field. Retry a 5xx after 1, 2 and 4 seconds, or after the seconds
          in <code>Retry-After</code>. Do not retry a 4xx: the same request fails again.
        </p>
        <Line id="error-body" text={'{"error":"Invalid query parameters"}'} what="the body" />
        <p>
          A post that does not exist is not an error: <code>{'{"post":null}'}</code> with status 200. A 500
          has an <code>X-Request-Id</code>, under which the log of Tidings has the cause.
        </p>
      </Section>
      <Section id="limits" title={guides.limits}>
        <p>
          Tidings itself limits no authenticated request. If the organization keeps its keys at Unkey, a key
          can have a limit there. The response is then 429 with <code>Retry-After</code> in seconds and, where
          Unkey sends them, <code>X-RateLimit-Limit</code>, <code>X-RateLimit-Remaining</code> and{' '}
          <code>X-RateLimit-Reset</code> (Unix seconds).
        </p>
      </Section>
    </>
  );
}

export function Line({ id, text, what }: { id: string; text: string; what: string }) {
  return (
    <div class="line">
      <CopyButton of={`${id}-text`} what={what} />
      <code id={`${id}-text`}>{text}</code>
    </div>
  );
}
