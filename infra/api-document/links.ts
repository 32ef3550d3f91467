import type { Route } from '../../routes.ts';

/*
 * What a client can do next with an entity that it has created or listed. Fuzzers use links to
 * reach later requests.
 */

interface Link {
  readonly operationId: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly requestBody?: string;
}

export const operationIdOf = ({ handler }: Route): string =>
  handler.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/**
 * The links of a successful response, by operation id: of a creation, the paths below its own and
 * its PUT; of a list, the PUT of its first entity.
 */
export function linksOf(
  { route, contract }: Route,
  routes: readonly Route[],
): Record<string, Link> {
  const isCreation = contract.status === 201;
  const collection = route.slice(route.indexOf(' ') + 1);
  const links = routes.flatMap((row): Link[] => {
    const operationId = operationIdOf(row);
    const [method, path = ''] = row.route.split(' ');
    if (method === 'PUT' && path === collection && route !== row.route)
      return [{ operationId, requestBody: isCreation ? '$response.body' : '$response.body#/0' }];
    if (!isCreation) return [];
    // The parameter of the path has the name of the field that identifies the entity.
    const [, name] = path.startsWith(`${collection}/`) ? (/\{(\w+)\}/.exec(path) ?? []) : [];
    return name ? [{ operationId, parameters: { [name]: `$response.body#/${name}` } }] : [];
  });
  return Object.fromEntries(links.map((link) => [link.operationId, link]));
}
