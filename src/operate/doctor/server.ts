import { tidings } from '../../lib/how-to-run.ts';
import { type Check, check, failed, ok, type Patient, unchecked, warning } from './check.ts';

const TIMEOUT_MS = 2_000;

export const serverChecks: readonly Check[] = [
  check('server', async (patient) => {
    const { host, port } = patient.config;
    if (host === null || port === null) return unchecked('HOST or PORT');
    const url = addressOf(host, port);
    if (url === null) return ok('PORT is 0: the port of the server is not known, and was not asked');
    const pong = await ask(patient, `${url}/ping`);
    if (pong === null) {
      return warning(
        `Nothing answers at ${url}`,
        `Start it with "${tidings} serve"; if it runs, give this command the same HOST and PORT`,
      );
    }
    if (pong.status !== 200 || pong.text !== 'pong') {
      return failed(
        `What answers at ${url} is not Tidings`,
        'Choose another PORT, or stop the other program',
      );
    }
    const ready = await ask(patient, `${url}/ready`);
    if (ready?.status === 200) return ok(`The server at ${url} is ready`);
    return failed(
      `The server at ${url} is not ready: ${ready === null ? 'no answer' : reasonOf(ready.text)}`,
      'Look at its log',
    );
  }),
];

/** Where a client on this machine finds the server; null when the port is not known. */
function addressOf(host: string, port: number): string | null {
  if (port === 0) return null;
  const own = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${own.includes(':') ? `[${own}]` : own}:${port}`;
}

async function ask({ fetch }: Patient, url: string): Promise<{ status: number; text: string } | null> {
  try {
    const response = await fetch(new Request(url, { signal: AbortSignal.timeout(TIMEOUT_MS) }));
    // Another program may say anything, at any length.
    return { status: response.status, text: (await response.text()).slice(0, 500) };
  } catch {
    return null;
  }
}

function reasonOf(body: string): string {
  return /"error":"([^"]*)"/.exec(body)?.[1] ?? 'it did not say why';
}
