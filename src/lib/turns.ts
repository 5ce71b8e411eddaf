/** Ends this turn of the event loop: what came meanwhile, such as a request, is looked after first. */
export function letOthersIn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
