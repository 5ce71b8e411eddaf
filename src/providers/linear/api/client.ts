import { LinearClient } from '@linear/sdk';
import type { Static, TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { noSuccess, notLinear, problemOf } from './problem.ts';
import type { Query } from './queries.ts';

/** How long Linear may take for one request, its body included. */
const TIMEOUT_MS = 10_000;

export interface LinearCaller {
  /** Asks in words of ours, and checks the answer. `secret` is what must never show in a problem. */
  ask<Shape extends TSchema>(
    query: Query<Shape>,
    variables: Record<string, unknown>,
    secret?: string,
  ): Promise<Static<Shape>>;
  /** Calls a method of the SDK that answers whether it succeeded. */
  perform(method: (client: LinearClient) => Promise<{ success: boolean }>, secret?: string): Promise<void>;
}

export interface LinearOptions {
  /** How long one request may take, in milliseconds. */
  timeoutMs?: number;
  /** Ends what is asked, as if Linear did not answer. */
  signal?: AbortSignal | undefined;
}

/** Calls Linear with a token. What fails is a `ProviderProblem`, always. */
export function linearCaller(
  url: string,
  token: string,
  { timeoutMs = TIMEOUT_MS, signal }: LinearOptions = {},
): LinearCaller {
  const context = (secret?: string) => ({
    url,
    timeoutMs,
    secrets: secret === undefined ? [token] : [token, secret],
  });

  // A client for each request, because the SDK takes the signal that bounds it with the client.
  async function call<Result>(use: (client: LinearClient) => Promise<Result>, secret?: string) {
    try {
      return await use(
        new LinearClient({
          ...credential(token),
          apiUrl: url,
          // A redirect would turn the request into a GET, whose answer misleads.
          redirect: 'manual',
          signal: AbortSignal.any([
            AbortSignal.timeout(timeoutMs),
            ...(signal === undefined ? [] : [signal]),
          ]),
        }),
      );
    } catch (error) {
      throw problemOf(error, context(secret));
    }
  }

  return {
    async ask(query, variables, secret) {
      const { data } = await call((client) => client.client.rawRequest(query.text, variables), secret);
      if (Value.Check(query.answer, data)) return data;
      throw notLinear(context(secret));
    },

    async perform(method, secret) {
      const { success } = await call(method, secret);
      if (!success) throw typeof success === 'boolean' ? noSuccess() : notLinear(context(secret));
    },
  };
}

/** Linear wants personal API keys bare, and OAuth's tokens after `Bearer`. */
function credential(token: string) {
  return token.startsWith('lin_api_') ? { apiKey: token } : { accessToken: token };
}
