/** Values of path parameters. */
export type Params = Readonly<Record<string, string | number>>;

/** The method of a route and its path with these parameters. */
export function methodAndPath(route: string, params: Params = {}): [method: string, path: string] {
  const [method = '', pattern = ''] = route.split(' ');
  return [
    method,
    pattern.replace(/\{(\w+)\+?\}/g, (_, name) => encodeURIComponent(String(params[name]))),
  ];
}
