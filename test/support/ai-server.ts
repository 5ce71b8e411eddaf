import { planFaults, type Respond } from './stand-in.ts';

/** A request as the official client of OpenAI sends it, as far as it matters. */
interface Asked {
  model: string;
  system: string;
  /** The JSON that the user message holds. */
  entry: { entry: string; sources: string[]; marked?: true };
  authorization: string | null;
  body: string;
}

export interface AiServer extends Disposable {
  /** For `AI_URL`. */
  readonly url: string;
  readonly asked: Asked[];
  /** The answer to each request. Default: the entry as it is. */
  reply: (asked: Asked) => string;
  failNext: ReturnType<typeof planFaults>['add'];
}

const problem = (status: number, message: string) =>
  Response.json({ error: { message, type: 'invalid_request_error', param: null, code: null } }, { status });

/** A chat completion in the shape of OpenAI's API. */
export const completion = (model: string, content: string) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_795_000_000,
  model,
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content, refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
});

/** Stands in for a server with OpenAI's API, over real HTTP. The official client works with it. */
export function startAiServer(): AiServer {
  const asked: Asked[] = [];
  const faults = planFaults();
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const body = await request.text();
      if (request.method !== 'POST' || new URL(request.url).pathname !== '/v1/chat/completions')
        return problem(404, 'Unknown request URL');
      const { model, messages } = JSON.parse(body);
      const [system, user] = messages;
      if (typeof model !== 'string' || system?.role !== 'system' || user?.role !== 'user')
        return problem(400, "Missing required parameter: 'messages'");
      const record: Asked = {
        model,
        system: system.content,
        entry: JSON.parse(user.content),
        authorization: request.headers.get('authorization'),
        body,
      };
      asked.push(record);
      const fault: Respond | null = faults.next();
      return fault === null ? Response.json(completion(model, ai.reply(record))) : fault(request);
    },
  });
  const ai: AiServer = {
    url: `http://127.0.0.1:${server.port}/v1`,
    asked,
    reply: ({ entry }) => entry.entry,
    failNext: faults.add,
    [Symbol.dispose]: () => void server.stop(true),
  };
  return ai;
}
