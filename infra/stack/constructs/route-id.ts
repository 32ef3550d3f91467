import type { Route } from '../../../routes.ts';

/*
 * CloudFormation creates a resource with a new logical id before it deletes the former one, and API
 * Gateway rejects a second route with the same key: a deployment in which the id of a route changes
 * always fails. https://github.com/sst/sst/issues/513
 */

/**
 * The id of the construct of a route, and of its function: the same whatever its handler's name.
 */
export const routeId = ({ route }: Route): string =>
  route.replaceAll(/[^A-Za-z0-9]+/g, '-').replace(/-$/, '');
