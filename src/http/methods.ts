/** The routes that the app has, asked for when needed: features are added after the error handler. */
export type RouteTable = () => readonly { method: string; path: string }[];

/** The methods that a path answers to, for `Allow`; none when no route has the path. `GET` brings `HEAD`. */
export function allowedMethods(routes: ReturnType<RouteTable>, pathname: string): string[] {
  const methods = routes
    .filter((route) => new URLPattern({ pathname: route.path }).test({ pathname }))
    .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...new Set(methods)].sort();
}
