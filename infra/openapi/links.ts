import type { Route } from '../../routes.ts';

/* What a client can do next with an entity that it has created. Fuzzers use links to reach updates and deletions. */

interface Link {
  readonly operationId: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly requestBody?: string;
}

/** The operation id of a route, which names it in links and in generated clients. */
export const operationIdOf = ({ handler }: Route): string =>
  handler.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The links of the response to a creation, by operation id: the paths below its own, and its PUT. */
export function linksOf({ route, contract }: Route, routes: readonly Route[]): Record<string, Link> {
  if (contract.status !== 201) return {};
  const collection = route.replace('POST ', '');
  const links = routes.flatMap((row): Link[] => {
    const operationId = operationIdOf(row);
    const [method, path = ''] = row.route.split(' ');
    if (method === 'PUT' && path === collection) return [{ operationId, requestBody: '$response.body' }];
    // The parameter of the path has the name of the field that identifies the entity.
    const [, name] = path.startsWith(`${collection}/`) ? (/\{(\w+)\}/.exec(path) ?? []) : [];
    return name ? [{ operationId, parameters: { [name]: `$response.body#/${name}` } }] : [];
  });
  return Object.fromEntries(links.map((link) => [link.operationId, link]));
}
