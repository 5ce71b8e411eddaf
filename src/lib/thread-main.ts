// The thread's side of `threadQueue`.

declare const self: Worker;

/** The message that has the thread load its work. */
export const LOAD = null;

/**
 * Answers the requests of a `threadQueue`. `load` imports the work at the first one, so that a thread without work weighs
 * little. The thread then says that it is ready, and the time limit of the request begins.
 */
export function answerRequests<Request, Answer>(
  load: () => Promise<(request: Request) => Answer | Promise<Answer>>,
): void {
  let answer: Awaited<ReturnType<typeof load>>;
  self.onmessage = async ({ data }: MessageEvent<string | typeof LOAD>) => {
    if (data !== LOAD) {
      self.postMessage(await answer(JSON.parse(data)));
      return;
    }
    answer = await load();
    self.postMessage('ready');
  };
}
