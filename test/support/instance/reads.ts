import { routes } from '../../../routes.ts';
import { CHANGES, type Change } from './changes.ts';
import { methodAndPath } from './method-and-path.ts';

/**
 * The routes that change nothing, as requests. `parameter` is the id of a parameter whose value KMS
 * can decrypt.
 */
export const readsOf = (parameter: number): Change[] =>
  routes
    .filter(({ route }) => CHANGES.every((change) => change.route !== route))
    .map(({ route }) => ({
      route,
      success: 200,
      repeated: 200,
      hidesOutcome: true,
      async prepare(setup) {
        const { token } = await setup.account();
        const id = route.includes('confs') ? parameter : await setup.integration();
        const query = route.endsWith('confs')
          ? `?integrationId.equals=${Math.floor(id / 1_000_000)}`
          : '';
        const [method, pathname] = methodAndPath(route, { login: 'admin', id });
        const path = pathname + query;
        return {
          item: '',
          request: { method, path, token },
          send: () => setup.gatehouse.call(method, path, { token }),
          countChanges: async () => 0,
        };
      },
    }));
